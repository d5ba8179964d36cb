"""A fetched page as text for a model. Runs in a sandboxed process, since decoders and parsers of HTML chew what anybody
may have written: time grows with the square of some pages, and memory to hundreds of times their size.
"""

import re
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any
from urllib.parse import urljoin

import trafilatura
from lxml import etree  # type: ignore[import-untyped]

from app.tools.charsets import decoded

EXTRACTION_CPU_S = 5
TAGS_WEIGHED = 50_000
"""Within both, the main content is looked for; beyond, the page's whole text will do."""
CHARACTERS_GIVEN = 1_000_000

_INVISIBLE = ("head", "script", "style", "noscript", "template", "svg", "iframe", "object", "select")
_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_REFRESH = re.compile(r"\A[\s\d.]*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"'\s]+)", re.IGNORECASE)


class _TooSlow(BaseException):
    """The extraction has had its time. No `Exception`, since libraries catch those."""


def answer(request: dict[str, Any], contents: Iterator[bytes]) -> dict[str, Any]:
    """`text`, or `code` and `error`. The request holds `url`, `html`, `charset` and `cut`; the content is the body."""
    url, body = request["url"], next(contents)
    text = decoded(body, request["charset"])
    head: list[str] = []
    if request["html"]:
        title, target, text = _read(text, url)
        head += [f"Title: {title}"] if title else []
        head += [f"URL: {url}"]
        head += [f"Note: the page sends its readers on to {target}"] if target else []
    else:
        head += [f"URL: {url}"]
    if not text.strip():
        onward = "".join(f"; {line.removeprefix('Note: ')}" for line in head if line.startswith("Note: "))
        return {"code": "no_text", "error": f"{url} has no readable text; it may need JavaScript{onward}"}
    if request["cut"]:
        head.append(f"Note: the page is longer; only its first {len(body):,} bytes were read.")
    if len(text) > CHARACTERS_GIVEN:
        head.append(f"Note: this is the beginning of a text of {len(text):,} characters.")
    return {"text": "\n".join(head) + "\n\n" + text[:CHARACTERS_GIVEN]}


def _read(html: str, url: str) -> tuple[str | None, str | None, str]:
    """Title, where the page sends its readers, and main content, or all visible text where none is found in time."""
    tree = trafilatura.load_html(html)
    if tree is None:  # It wants the tags of a page, which HTML lets people leave out.
        tree = trafilatura.load_html(f"<!doctype html><html><body>{html}</body></html>")
    if tree is None:
        return None, None, ""
    title = " ".join((tree.findtext(".//title") or "").split()) or None
    target = _refresh_target(tree, url)
    return title, target, _main_content(html, url) or _visible_text(tree)


def _main_content(html: str, url: str) -> str | None:
    if html.count("<") > TAGS_WEIGHED:
        return None
    signal.signal(signal.SIGVTALRM, _end_extraction)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, EXTRACTION_CPU_S)
        content: str | None = trafilatura.extract(html, url=url, output_format="markdown", include_links=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except (_TooSlow, MemoryError):
        return None
    return content


def _end_extraction(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


def _refresh_target(tree: Any, url: str) -> str | None:
    for meta in tree.iter("meta"):
        if (meta.get("http-equiv") or "").strip().lower() == "refresh":
            found = _REFRESH.match((meta.get("content") or "")[:2_000])
            return urljoin(url, found[1]) if found else None
    return None


def _visible_text(tree: Any) -> str:
    etree.strip_elements(tree, *_INVISIBLE, etree.Comment, etree.ProcessingInstruction, with_tail=False)
    pieces: list[str] = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if element.tag not in _INLINE:
            pieces.append("\n")
        text = element.text if event == "start" else element.tail
        if text:
            pieces.append(re.sub(r"\s+", " ", text))
    lines = (line.strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)
