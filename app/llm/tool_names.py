"""The names of tools as the Messages API takes them: letters, digits, `_` and `-`, at most 64 of them.

Everywhere else a tool has the name that people gave it, like `github/create_issue`. A name on the wire follows from
that one alone, so that it is the same in every request and process, and no two tools have the same one:

- a plain name without `__` stays as it is;
- `server/tool` is `server__tool`, where `server` has no `_`;
- any other is `t_`, twelve digits of its hash, `__` and its letters, which neither of the others can be.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from app.domain.conversation import Block, ToolSpec

LONGEST = 64
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OF_SERVER = re.compile(r"[A-Za-z0-9-]{1,64}/[A-Za-z0-9_-]{1,64}")
_OTHER_SIGNS = re.compile(r"[^A-Za-z0-9-]")


@lru_cache(maxsize=2_000)
def wire_name(name: str) -> str:
    """The name of a tool on the wire."""
    if _PLAIN.fullmatch(name) and "__" not in name:
        return name
    joined = name.replace("/", "__", 1)
    if _OF_SERVER.fullmatch(name) and len(joined) <= LONGEST:
        return joined
    digits = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
    return f"t_{digits}__{_OTHER_SIGNS.sub('-', name)}"[:LONGEST]


def on_the_wire(content: Sequence[Block], tools: Iterable[ToolSpec]) -> list[Block]:
    """The blocks with the calls of tools under their names on the wire. What no tool of ours is called stays."""
    known = {tool.name for tool in tools}
    return [
        {**block, "name": wire_name(block["name"])}
        if block.get("type") == "tool_use" and ("/" in block["name"] or block["name"] in known)
        else block
        for block in content
    ]


def as_ours(content: Iterable[Block], tools: Iterable[ToolSpec]) -> list[Block]:
    """The blocks of a reply with the calls of tools under the names that we gave them."""
    ours = {wire_name(tool.name): tool.name for tool in tools if tool.server is None}
    return [
        {**block, "name": ours[block["name"]]} if block.get("type") == "tool_use" and block["name"] in ours else block
        for block in content
    ]
