"""Prompts are templates with strict variables; what comes from outside is marked off inside them.

Structured material is embedded as JSON in which no tag can be written, running text between tags that it cannot close.
"""

import json
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.domain.conversation import Prompt


def _json(value: Any) -> str:
    """`value` as JSON on one line, with angle brackets escaped, so that it cannot contain a tag."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


_TAG = re.compile(
    r"<(?=\s*+/?\s*+(?:answer|assumption|attempt|candidate|conflict|context|dependency|escalation|failed|file_change|final_instruction|findings?|flaws|inputs|judged|objective|reduction|result"
    r"|review|settled|success_criterion|surroundings|task|tie_break|tools|workers?)\b)",
    re.IGNORECASE,
)
"""The beginning of any tag that our templates write. What was run through in vain is not run through again."""


def _text(text: str) -> str:
    """`text` with our tags broken, so that it can neither end the element it stands in nor forge another."""
    return _TAG.sub(r"<\\", text)


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "prompts"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
)
_TEMPLATES.filters["json"] = _json
_TEMPLATES.filters["text"] = _text


def render(template: str, **values: Any) -> str:
    """The text of a template. A variable it names and does not get is an error."""
    return _TEMPLATES.get_template(f"{template}.j2").render(values).strip()


def opening(kind: str, **values: Any) -> Prompt:
    """The opening of a conversation: the templates `{kind}_system` and `{kind}_request`."""
    return Prompt(render(f"{kind}_system", **values), render(f"{kind}_request", **values))
