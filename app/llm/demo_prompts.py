"""What the demo model reads: the parts of a prompt, and what stands in a text."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.conversation import Block
from app.llm.model import Request

ToolResults = Sequence[tuple[Block, str, bool]]
"""Each call, what came back, and whether that is an error."""

SIGNED = "Demo model:"
"""How everything begins that the demo model says in short."""

READ_CHARACTERS = 20_000
"""How far it reads a text for clues."""

PART = "Find out what the objective asks about this part of it alone:"
GATHER = "Find what bears on this, and leave the rest to those who get your result:"
FIGURES = "Give the figures that this asks for:"
WRITE = "Write the {} for this, from the results alone:"
SAY = "Say what can be said to this, and change nothing:"
"""What its instructions begin with. The worker tells by them what is asked of it from what it is about."""

_OWN = re.compile(
    "|".join(re.escape(each).replace(r"\{\}", ".{1,40}?") for each in (PART, GATHER, FIGURES, WRITE, SAY))
)
_SECTION = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.DOTALL | re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>\"'`\])}]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


def opening_of(request: Request) -> str:
    """The first message as text."""
    return "\n".join(block["text"] for block in request.messages[0].content if block.get("type") == "text")


def sections(prompt: str) -> dict[str, list[str]]:
    """What stands between tags, by tag. A tag inside another one's text is a part of that text."""
    found: dict[str, list[str]] = {}
    for section in _SECTION.finditer(prompt):
        found.setdefault(section[1], []).append(section[2])
    return found


def values(texts: Sequence[str]) -> list[dict[str, Any]]:
    """The JSON objects in sections that hold one on every line."""
    return [json.loads(line) for text in texts for line in text.split("\n") if line.strip()]


def lists_in(data: Any) -> dict[str, list[dict[str, Any]]]:
    """The records in the lists that data have, by the names of these."""
    named = data.items() if isinstance(data, dict) else ()
    return {name: [each for each in held if isinstance(each, dict)] for name, held in named if isinstance(held, list)}


def number_after(words: str, prompt: str, otherwise: int) -> int:
    """The whole number that follows these words."""
    found = re.search(rf"{re.escape(words)} (\d+)", prompt)
    return int(found[1]) if found else otherwise


def input_names(prompt: str) -> list[str]:
    """The names of the job's inputs that a worker is told of."""
    found = re.search(r"^The job's inputs: (.*)\.$", prompt, re.MULTILINE)
    return [str(name) for name in json.loads(f"[{found[1]}]")] if found else []


def asked_and_about(task: str) -> tuple[str, str]:
    """What a task asks for, and what it is about: the same, unless it begins like one of the demo model's own."""
    own = _OWN.match(task)
    return (own[0], task[own.end() :].strip()) if own else (task, task)


def tool_results(request: Request) -> ToolResults:
    """The tool calls made so far, in order."""
    blocks = [block for message in request.messages for block in message.content]
    calls: Mapping[str, Block] = {block["id"]: block for block in blocks if block.get("type") == "tool_use"}
    return [
        (calls[block["tool_use_id"]], str(block["content"]), bool(block.get("is_error")))
        for block in blocks
        if block.get("type") == "tool_result"
    ]


def skimmed(text: str) -> str:
    """The part of a text that is searched for clues, with single spaces: bounded, whatever the text is."""
    lines = [" ".join(line.split()) for line in text[:READ_CHARACTERS].split("\n")]
    return "\n".join(line for line in lines if line)


def urls_in(text: str) -> list[str]:
    """The web addresses in a text, each once."""
    return list(dict.fromkeys(url.rstrip(".,;:!?") for url in _URL.findall(skimmed(text))))


def gist(text: str, limit: int = 160) -> str:
    """The first sentence of a text on one line, cut at a word when it is long."""
    first = next((part for part in _SENTENCE_END.split(text.strip()) if part.strip()), "")
    line = " ".join(first.split())
    if len(line) <= limit:
        return line
    return (line[:limit].rpartition(" ")[0] or line[:limit]).rstrip(",;:") + " …"


def excerpt(text: str, limit: int) -> str:
    """The beginning of a text, cut at a line or a word with a notice."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head = text[:limit]
    kept = head.rpartition("\n")[0] if "\n" in head[limit // 2 :] else head.rpartition(" ")[0]
    return f"{kept or head}\n[… shortened by the demo model …]"


def counted(number: int, what: str) -> str:
    """So many of something: `1 line`, `2 lines`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def unsigned(text: str) -> str:
    """A text without the demo model's signature at its beginning."""
    return re.sub(rf"^(?:> {SIGNED}[^\n]*\n*|{SIGNED}\s*)", "", text.strip())


def fenced(text: str, language: str = "text") -> str:
    """A text as a Markdown code block that nothing in it can end."""
    fence = max(re.findall(r"`{3,}", text), key=len, default="``") + "`"
    return f"{fence}{language}\n{text}\n{fence}"
