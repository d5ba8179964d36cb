"""Test files that code makes: where they belong, how tests of several results are merged, and what the table says."""

import ast
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.domain.artifacts import FILE_BYTES, TOGETHER_BYTES, name_fault
from app.domain.makers.tests import files_of
from app.domain.makers.tests_table import PATCH
from app.domain.python_code.merging import Ready, merged
from app.domain.python_code.modules import stem_of
from app.domain.python_code.places import Places
from app.domain.python_code.survey import Survey
from app.domain.python_code.written import WrittenTest
from app.domain.results import Problem
from tests.support.templates import given

CODE = "def f(): return 1\ndef g(): return 2\ndef _h(): return 3\n"


def survey_of(*names: str, text: str = CODE) -> Survey:
    return Survey.of(given(name, text) for name in names)


def paths(given_names: Sequence[str], *sources: str) -> list[str]:
    places = Places(survey_of(*given_names, *sources))
    return [places.path_for(source) for source in sources]


@pytest.mark.parametrize(
    ("there", "source", "path"),
    [
        ([], "prices.py", "tests/test_prices.py"),
        ([], "shop/prices.py", "tests/test_prices.py"),
        (["src/shop/__init__.py"], "src/shop/prices.py", "tests/test_prices.py"),
        (["services/a/src/shop/__init__.py"], "services/a/src/shop/prices.py", "services/a/tests/test_prices.py"),
        (["services/a/shop/__init__.py"], "services/a/shop/prices.py", "services/a/tests/test_prices.py"),
        (["tests/conftest.py", "tests/unit/test_all.py"], "src/shop/prices.py", "tests/unit/test_prices.py"),
        (["src/shop/tax.py", "tests/test_tax.py"], "src/shop/rates/zones.py", "tests/test_zones.py"),
        (["src/shop/a/b.py", "tests/a/test_b.py"], "src/shop/rates/zones.py", "tests/rates/test_zones.py"),
        (["src/shop/a/b.py", "tests/shop/a/test_b.py"], "src/shop/rates/zones.py", "tests/shop/rates/test_zones.py"),
        (["shop/tax.py", "shop/tax_test.py"], "shop/rates/zones.py", "shop/rates/zones_test.py"),
        (["shop/tax.py", "shop/tests/test_tax.py"], "shop/rates/zones.py", "shop/rates/tests/test_zones.py"),
        (["a/x.py", "a/tests/test_x.py", "a/y.py", "a/tests/test_y.py", "b/z.py", "b/tests/test_z.py"],
         "b/new.py", "b/tests/test_new.py"),
        ([], "src/shop/__init__.py", "tests/test_shop.py"),
        ([], "shop/_own.py", "tests/test_own.py"),
        (["prices.py", "tests/test_prices.py"], "../../etc/cron.py", "tests/test_cron.py"),
        ([], "/etc/cron.py", "tests/test_cron.py"),
    ],
)  # fmt: skip
def test_a_test_file_goes_where_the_others_are(there: list[str], source: str, path: str) -> None:
    assert paths(there, source) == [path]


def test_no_path_is_given_twice_and_no_file_overwritten() -> None:
    there = ["tests/test_prices.py", "tests/test_prices_more.py"]

    assert paths(there, "shop/prices.py") == ["tests/test_prices_more_2.py"]
    assert paths([], "shop/a/utils.py", "shop/b/utils.py", "shop/c/b/utils.py") == [
        "tests/test_utils.py",
        "tests/test_b_utils.py",
        "tests/test_utils_more.py",
    ]


def ready(code: str, *imports: str, function: str = "f", source: str = "shop/prices.py") -> Ready:
    return Ready(WrittenTest(function=function, input=source, kind="edge", code=code), imports)


def texts(*tests: Ready) -> list[str]:
    survey = survey_of("shop/prices.py", "shop/rates.py")
    files = [file.text("# Head", survey.modules) for file in merged(tests, survey.modules).files]
    for text in files:
        ast.parse(text)
    return files


def test_imports_are_taken_once_in_groups_and_only_where_they_are_read() -> None:
    one = ready(
        "def test_a():\n    # A note.\n    assert f(os.sep, m) == '''\n\n\n\n  as it was'''\n\n",
        "from shop.prices import f, g", "import os, sys", "from itertools import chain as m", "import pytest",
    )  # fmt: skip
    two = ready(
        "@pytest.mark.parametrize('x', [1])\nclass TestB:\n    def test_b(self, x):\n        assert g(shop.rates)",
        "from __future__ import annotations", "import shop.rates", "from shop.prices import g", "import pytest",
    )  # fmt: skip

    assert texts(one, two) == [
        """\
# Head

from __future__ import annotations

import os
from itertools import chain as m

import pytest

import shop.rates
from shop.prices import f, g


def test_a():
    # A note.
    assert f(os.sep, m) == \'\'\'



  as it was\'\'\'


@pytest.mark.parametrize('x', [1])
class TestB:
    def test_b(self, x):
        assert g(shop.rates)
"""
    ]


def test_names_are_made_unique_and_the_same_test_is_taken_once() -> None:
    tests = [
        ready("def test_a():\n    assert f() == 1", "from shop.prices import f"),
        ready("def test_a():\n    assert f() == 1  # again", "from shop.prices import f"),
        ready("@mark\nasync  def   test_a():\n    assert f() == 2, 'def test_a'", "from shop.prices import f"),
        ready("def test_a_2():\n    assert f() == 3", "from shop.prices import f"),
        ready("no test at all"),
    ]

    [text] = texts(*tests)

    names = [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert names == ["test_a", "test_a_2", "test_a_2_2"]
    assert "assert f() == 2, 'def test_a'" in text


def test_a_test_behind_blank_lines_gets_a_name_of_its_own() -> None:
    [text] = texts(
        ready("def test_a():\n    assert f() == 1"), ready("\n\n\n@mark\ndef test_a():\n    assert f() == 2\n")
    )

    assert [each for each in text.split("\n") if each.startswith("def")] == ["def test_a():", "def test_a_2():"]


def test_a_class_of_tests_that_speaks_of_itself_keeps_its_name_or_is_left_out() -> None:
    def test_of(number: int) -> Ready:
        return ready(f"class TestA:\n    x = {number}\n    def test_a(self):\n        assert f() == TestA.x")

    found = merged([test_of(1), test_of(2)], survey_of("shop/prices.py").modules)

    assert [(len(file.tests), file.names) for file in found.files] == [(1, {"TestA"})]
    assert [why for _, why in found.left_out] == ["there are two of the name TestA"]


def test_a_test_is_not_called_like_what_is_imported() -> None:
    [text] = texts(
        ready("def test_f():\n    assert test_f()", "from shop.prices import f as test_f"),
        ready("def test_f():\n    assert 2 == test_f()", "from shop.prices import f as test_f"),
    )

    assert [each for each in text.split("\n") if each.startswith("def")] == ["def test_f_2():", "def test_f_3():"]
    assert len(texts(ready("def test_f():\n    assert f"), ready("def test_a():\n    test_f()", "import test_f"))) == 2


def test_a_name_that_means_two_things_makes_two_files() -> None:
    tests = [
        ready("def test_a():\n    assert f(x)", "from shop.prices import f", "from shop.rates import g as x"),
        ready("def test_b():\n    assert f(x)", "from shop.prices import f", "import sys as x"),
        ready("def test_c():\n    assert f(os.path, os.sep)", "import os.path, os", "from shop.prices import f"),
    ]

    assert [text.count("def ") for text in texts(*tests)] == [2, 1]


def test_the_table_tells_of_everything_and_the_patch_has_every_file() -> None:
    names = [f"shop/m{number}.py" for number in range(25)]
    survey = Survey.of(
        [
            *(given(name, CODE) for name in (*names, "shop/o|d `d.py", "shop/x/m3.py")),
            given("tests/test_m0.py", "from shop.m0 import f\nf()\n"),
        ]
    )
    tests = [ready("def test_a():\n    assert f", function="f", source=name) for name in survey.sources]
    failed = {("g", "shop/m1.py"): ("tests-7", Problem(code="timeout", message="Too\nlate | for it."))}

    files = {file.name: file.text or "" for file in files_of(survey, tests, failed)}

    assert len(files) == 20
    assert all(name_fault(name) is None for name in files)
    rows = files["coverage.md"].split("\n")
    assert "| `shop/m0.py` | `f` | 1-1 | tests written | `tests/test_m0_more.py` (1) |" in rows
    assert "| `shop/m0.py` | `_h` | 3-3 | needs none | private: tested through what uses it |" in rows
    assert "| `shop/m1.py` | `g` | 2-2 | not tested | task tests-7, timeout: Too late \\| for it. |" in rows
    assert "| `shop/m2.py` | `g` | 2-2 | not tested | no task was about it |" in rows
    assert sum("in `tests.patch` alone" in row for row in rows) == 27 - 18
    assert files[PATCH].count("new file mode") == 27
    assert '+++ "b/tests/test_o|d `d.py"\n' in files[PATCH]
    assert sum("`o" in row or "o\\|d" in row for row in rows) == 4


def test_what_a_task_says_is_no_markdown_in_the_table() -> None:
    said = Problem(code="escalated", message="Ask @team: ![x](https://example.com/a.png) <img src=x> | **now**")

    files = {file.name: file.text or "" for file in files_of(survey_of("m.py"), [], {("g", "m.py"): ("t", said)})}

    why = "Ask @\u200dteam: \\!\\[x\\](https\\://example.com/a.png) \\<img src=x\\> \\| \\*\\*now\\*\\*"
    assert f"| `m.py` | `g` | 2-2 | not tested | task t, escalated: {why} |" in files["coverage.md"].split("\n")


def test_paths_stand_in_the_patch_as_git_quotes_them(tmp_path: Path) -> None:
    names = ["shop/größe.py", 'shop/a"b\\c.py', "shop/a b.py"]
    survey = survey_of(*names)
    tests = [ready("def test_a():\n    assert f", source=name) for name in survey.sources]

    files = {file.name: file.text or "" for file in files_of(survey, tests, {})}

    assert '+++ "b/tests/test_gr\\303\\266\\303\\237e.py"\n' in files[PATCH]
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=files[PATCH].encode(), check=True)
    made = sorted(each.name for each in (tmp_path / "tests").iterdir())
    assert made == sorted(f"test_{stem_of(name)}.py" for name in names)


def test_files_that_are_nowhere_are_named_so() -> None:
    survey = survey_of(*(f"shop/m{number}.py" for number in range(20)))
    long = "#" * 19_000
    tests = [
        ready(f"def test_{at}():\n    assert f\n    {long}", source=name) for name in survey.sources for at in range(2)
    ]

    files = {file.name: file.text or "" for file in files_of(survey, tests, {})}

    assert PATCH not in files
    assert sum("not handed over" in row for row in files["coverage.md"].split("\n")) == 2
    assert "tests.patch" not in files["coverage.md"]


def test_the_files_are_no_longer_than_a_run_may_hand_over() -> None:
    survey = survey_of(
        *(f"shop/m{number}.py" for number in range(3)), text="".join(f"def f{n}(): g()\n" for n in range(3_000))
    )
    long = [
        ready(f"def test_{at}():\n    assert f0() == '{chr(0x1F600) * 19_000}'", function="f0", source=source)
        for source in survey.sources
        for at in range(8)
    ]

    for tests in (long, long[:3], long[:1]):
        files = files_of(survey, tests, {})

        assert all(each.size <= FILE_BYTES for each in files)
        assert sum(each.size for each in files) <= TOGETHER_BYTES
        table = next(each.text or "" for each in files if each.name == "coverage.md")
        assert "Not tested: 8999" in table or "Not tested: 8997" in table
        assert "more rows have no room here." in table


def test_files_have_one_name_in_packages_alone() -> None:
    there = ["a/y.py", "a/tests/test_y.py"]

    assert paths(there, "a/x.py", "b/x.py") == ["a/tests/test_x.py", "b/tests/test_b_x.py"]
    assert paths([*there, "b/tests/__init__.py"], "a/x.py", "b/x.py") == ["a/tests/test_x.py", "b/tests/test_x.py"]
    assert paths([*there, "b/tests/__init__.py"], "b/y.py") == ["b/tests/test_y.py"]
    assert paths(there, "b/y.py") == ["b/tests/test_y_more.py"]


def test_two_files_of_one_name_stay_apart() -> None:
    there = ["a/x.py", "b/x.py", "a/tests/test_y.py", "a/y.py", "b/tests/__init__.py"]
    survey = survey_of(*there)
    tests = [ready("def test_a():\n    assert f", source=name) for name in ("a/x.py", "b/x.py")]

    files = {file.name: file.text or "" for file in files_of(survey, tests, {})}

    assert [*files][:2] == ["test_x.py", "b-tests-test_x.py"]
    assert files["b-tests-test_x.py"].startswith("# Path: b/tests/test_x.py\n")


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("\ufeff\ufeffno test at all", ()),
        ("def test_b():\n    await f()", ()),
        ("def test_b(x, x):\n    assert f()", ()),
        ("def test_b():\n    break\n    assert f()", ()),
        ("def test_b():\n    assert f()", ("from __future__ import braces",)),
        (
            "def test_b():\n"
            + "".join(f"{' ' * n}try: f()\n{' ' * n}finally:\n" for n in range(1, 9))
            + "         f()",
            (),
        ),
    ],
)
def test_a_test_that_python_does_not_compile_takes_no_other_with_it(code: str, imports: Sequence[str]) -> None:
    survey = survey_of("shop/prices.py")
    good = "\ufeffdef test_a():\n    assert f() == 1"
    tests = [ready(good, "from shop.prices import f"), ready(code, *imports, function="g")]

    files = {file.name: file.text or "" for file in files_of(survey, tests, {})}

    compile(files["test_prices.py"], "<test>", "exec")
    assert "def test_a" in files["test_prices.py"]
    assert "| `g` | 2-2 | not tested | its test was left out: " in files["coverage.md"]


def test_tests_that_compile_apart_alone_are_in_two_files() -> None:
    tests = [
        ready("def test_a():\n    x: (y := f()) = 1\n    assert x == y"),
        ready("def test_b():\n    assert f() == 1", "from __future__ import annotations"),
    ]

    assert [text.count("def ") for text in texts(*tests)] == [1, 1]
