"""Keep the wheel of a release for the tests that run it: `python -m tests.upgrade.keep_wheel COMMIT DIRECTORY`.

It is built from the history of this repository and nothing else, and equal commits give equal files in it.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]
PACKAGED = ("app", "migrations")
BUILT_FROM = (*PACKAGED, "pyproject.toml", "README.md")
ONLY_THE_PACKAGE = 'include = ["app*"]'
"""What releases said before wheels had the migrations in them: theirs lay beside the package in the image."""
WITH_MIGRATIONS = 'include = ["app*", "migrations*"]'


def keep_wheel(commit: str, directory: Path) -> None:
    """Build the wheel of the release at a commit, into a directory."""
    with tempfile.TemporaryDirectory() as checkout:
        _archive(commit, *BUILT_FROM).extractall(checkout, filter="data")
        project = Path(checkout, "pyproject.toml")
        project.write_text(project.read_text().replace(ONLY_THE_PACKAGE, WITH_MIGRATIONS))
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        made_at = {"SOURCE_DATE_EPOCH": _git("show", "--no-patch", "--format=%ct", commit).decode().strip()}
        subprocess.run([*build, "--wheel-dir", directory, checkout], check=True, env=os.environ | made_at)


def files_at(commit: str) -> Mapping[str, bytes]:
    """What the packages held at a commit, by path."""
    with _archive(commit, *PACKAGED) as archive:
        files = {entry.name: archive.extractfile(entry) for entry in archive if entry.isfile()}
        return {name: file.read() for name, file in files.items() if file is not None}


def files_in(wheel: Path) -> Mapping[str, bytes]:
    """What the packages in a wheel hold, by path."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.partition("/")[0] in PACKAGED}


def knows(commit: str) -> bool:
    """Whether the history that is here has the commit: an archive of the sources has none, a shallow clone little."""
    asked = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    try:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _archive(commit: str, *paths: str) -> tarfile.TarFile:
    return tarfile.open(fileobj=BytesIO(_git("archive", "--format=tar", commit, *paths)))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("directory", type=Path)
    given = parser.parse_args()
    keep_wheel(given.commit, given.directory)
