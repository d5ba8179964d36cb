"""Values that look like credentials, and what stands in their place wherever something is stored or shown.

What is looked for are the well-known forms: keys of providers, tokens, private keys, passwords in connection strings,
and what authorizes a request. It is no proof that nothing else is secret: a password without a form is a word.

Clients choose the texts, so each takes time linear in its text: an attempt at a match never runs through what an
earlier one has run through in vain.
"""

import hashlib
import re
from itertools import takewhile

_LINE_ENDS = re.compile(r"\\+[nrt]|\s")
"""In text, and as JSON has them: a key is the same in both."""
_MARK = re.compile(r"\[secret:[0-9a-f]{4}\]")


def _word(head: str, rest: str) -> str:
    """A word that begins with `head`, and not within another: `task-1` has no key in it.

    What is looked for first are letters: the engine finds them faster than it asks what stands before. In JSON that
    may be the letter of an escape.
    """
    width = "." * len(head)
    return rf"{head}(?:(?<![A-Za-z0-9_\-]{width})|(?<=\\[nrtbf]{width})|(?<=\\u[0-9a-f]{{4}}{width})){rest}"


_HAS_DIGIT = r"(?=[A-Za-z_\-]{0,200}[0-9])"
_KEY_OF_AWS = r"(?![A-Z0-9]{0,11}AAAA)[A-Z0-9]{12,}"
"""Not four A in a row: those are zeros in the base64 of a file, which a mark would break."""
_FORMS = (
    # Text may be JSON, where the end of a line is written as \n.
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?>(?:\\+[nrt]|[A-Za-z0-9+/=\s:,.]|-(?!-))+))",
    _word("sk", rf"[-_]{_HAS_DIGIT}[A-Za-z0-9_\-]{{16,}}"),
    _word("rk", rf"_{_HAS_DIGIT}[A-Za-z0-9_\-]{{16,}}"),
    _word("AKIA", _KEY_OF_AWS),
    _word("ASIA", _KEY_OF_AWS),
    _word("AIza", r"[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-+/=])"),
    _word("ya29", r"\.[A-Za-z0-9_\-.]{20,}"),
    _word("gh", r"[opsur]_[A-Za-z0-9]{16,}"),
    _word("github_pat_", r"\w{16,}"),
    _word("glpat-", r"[\w\-]{16,}"),
    _word("xox", r"[abeoprs]-[A-Za-z0-9\-]{10,}"),
    _word("xapp-", r"[A-Za-z0-9\-]{10,}"),
    r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9_/\-]{16,})",
    _word("npm_", r"[A-Za-z0-9]{30,}"),
    _word("hf_", r"[A-Za-z0-9]{30,}"),
    _word("pypi-", r"[A-Za-z0-9_\-]{50,}"),
    _word("dop_v1_", r"[a-f0-9]{40,}"),
    _word("shp", r"(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _word("SG", r"\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    _word("whsec_", r"[A-Za-z0-9+/=]{20,}"),
    _word("chk_", r"[0-9a-z]{16}_[0-9a-f]{64}"),
    _word("eyJ", r"[\w\-]{8,}\.[\w\-]{4,}\.[\w\-]{4,}"),
    r"://[^\s:/@\"'\\?#]{0,100}:(?P<secret>[^\s/@\"'\\]{1,200})@",
    *(
        _word(kind, r"\s{1,4}(?P<secret>(?=[A-Za-z._~+/=\-]{0,200}[0-9])[A-Za-z0-9._~+/=\-]{12,})")
        for kind in ("Bearer", "bearer", "BEARER", "Basic", "basic", "BASIC")
    ),
)
"""What a credential looks like: the group `secret`, or else the whole, is what nobody is to see."""
_PATTERNS = tuple(map(re.compile, _FORMS))
_HEADS = (
    "-----BEGIN ", "sk-", "sk_", "rk_", "AKIA", "ASIA", "AIza", "ya29.", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "xox", "xapp-", "hooks.slack.com/", "npm_", "hf_", "pypi-", "dop_v1_", "shp", "SG.",
    "whsec_", "chk_", "eyJ", "://", "Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "BASIC ",
)  # fmt: skip
"""How each begins."""
_ANY_HEAD = "|".join(map(re.escape, _HEADS))
_BEGUN = re.compile(
    rf"(?:{_ANY_HEAD})\S*\Z|-----BEGIN [^-]*(?:-{{1,5}}[^-]*)?-{{0,4}}\Z|(?i:bearer|basic)\s{{1,4}}\S*\Z"
)
_LONGEST_BEGINNING = 8_000
"""Of what may be a credential that is still being written; a private key is shorter."""
_CONTEXT = 32
"""Characters that are remembered of what was said: a head may come in pieces, and a part of one tells nothing."""


class Dictation:
    """A text as it is written, piece by piece: what begins like a credential is not said before it has ended."""

    def __init__(self) -> None:
        self._said = ""
        self._unfinished = ""

    def after(self, piece: str) -> str:
        """What is to be said with the next piece."""
        before = len(self._said)
        text = self._said + self._unfinished + piece
        begun = _BEGUN.search(text, max(len(text) - _LONGEST_BEGINNING, 0))
        ready = text[: max(begun.start(), before)] if begun is not None else text
        shown = without_credentials(ready)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(shown, without_credentials(self._said), strict=False))
        known = sum(1 for _ in same)
        self._said, self._unfinished = ready[-_CONTEXT:], text[len(ready) :]
        return shown[known:]


def without_credentials(text: str) -> str:
    """The text with a mark, `[secret:1f0e]`, in the place of whatever looks like a credential.

    Equal ones have equal marks, and different ones hardly ever the same. Doing it again changes nothing.
    """
    for pattern in _PATTERNS:
        text = pattern.sub(_marked, text)
    return text


def has_mark(text: str) -> bool:
    """Whether something was masked there: whoever goes on with it does not know what."""
    return _MARK.search(text) is not None


def _marked(found: re.Match[str]) -> str:
    group = "secret" if "secret" in found.re.groupindex else 0
    secret, (start, end) = found[group], found.span(group)
    if _MARK.fullmatch(secret):
        return found[0]
    digest = hashlib.sha256(_LINE_ENDS.sub("", secret).encode(errors="replace")).hexdigest()
    mark = f"[secret:{digest[:4]}]"
    return found[0][: start - found.start()] + mark + found[0][end - found.start() :]
