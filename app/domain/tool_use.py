"""Which tools were called in a conversation, and whether they brought anything: what a result can rest on."""

import re
from collections.abc import Iterator

from app.domain.conversation import Conversation, tool_calls_of
from app.domain.results import Output

_THING = r"(?:[\w/-]{1,80}\.[a-z]\w{0,5}\b|commit [0-9a-f]{6,40}\b|[\w.+-]{1,64}@[\w-]{1,64}\.\w)"
_DEED = r"(?:saved|committed|pushed|uploaded|e-?mailed|mailed|sent|deployed|deleted|merged|posted)\b"
_CLAIM = re.compile(
    rf"\b{_DEED}[^.!?\n]{{0,80}}?\b{_THING}"
    rf"|{_THING}[^.!?\n]{{0,40}}?\b(?:was|were|is|are|been|now|and)[ ]{{1,3}}{_DEED}",
    re.IGNORECASE,
)
"""Words by which a deed in the world is claimed: on a file, a commit or an address."""
_MADE = r"(?:created|wrote|written|updated|generated|exported|stored|renamed|appended|published)"
_OWN_CLAIM = re.compile(
    r"(?:^|[.!?:\n])[\s*#>-]{0,8}(?:(?:I|we)(?:'ve|\u2019ve|[ ]have)?[ ]{1,3})?(?:(?:now|just|also)[ ])?"
    rf"(?:{_DEED}[^.!?\n]{{0,60}}?\b{_THING}|{_MADE}[ ]{{1,3}}(?:(?:a|the|new|file|to)[ ]{{1,3}}){{0,3}}{_THING})"
    r"|\b(?:I|we)(?:'ve|\u2019ve|[ ]have)?[ ]{1,3}(?:ran|run)[ ]the[ ]tests\b",
    re.IGNORECASE,
)
"""The same as somebody says of himself: at the beginning of a sentence."""
CLAIM_CHARACTERS = 20_000
"""How far a text is searched for one."""


def calls_made(talk: Conversation) -> Iterator[tuple[str, bool]]:
    """Every tool call that has ended, ours and those that the provider ran: the tool, and whether it succeeded."""
    for turn in talk.turns:
        for call in tool_calls_of(turn.content):
            yield call["name"], turn.result_of(call).error_code is None
        asked = {block["id"]: block["name"] for block in turn.content if block.get("type") == "server_tool_use"}
        for block in turn.content:
            found = block.get("content")
            if block.get("tool_use_id") in asked:
                yield asked[block["tool_use_id"]], not (isinstance(found, dict) and "error_code" in found)


def tools_used(talk: Conversation) -> set[str]:
    """The tools of which a call has succeeded."""
    return {name for name, succeeded in calls_made(talk) if succeeded}


def has_acted(talk: Conversation) -> bool:
    """Whether a call of a tool that changes something in the world has succeeded."""
    return any(
        turn.intents.get(call["id"], "read") != "read" and turn.result_of(call).error_code is None
        for turn in talk.turns
        for call in tool_calls_of(turn.content)
    )


def with_calls(output: Output, talk: Conversation, *, lacks_tool: bool = False) -> Output:
    """The result with how many calls its worker has made, and whether they bear it out: not where each has failed, nor
    where it claims a deed and no tool that acts has succeeded, nor where its worker `lacks_tool` for what was ordered.
    """
    made = [succeeded for _, succeeded in calls_made(talk)]
    says = says_own_deed(output.summary) or says_own_deed(output.text)
    claims = lacks_tool or (says and not output.artifacts)
    unverified = (not any(made) and (bool(made) or claims_deed(output))) or (claims and not has_acted(talk))
    return output.model_copy(update={"tool_calls": len(made), "unverified": unverified})


def claims_deed(output: Output) -> bool:
    """Whether the result seems to say that something was done in the world, beyond what was found or written."""
    return says_deed(output.summary) or says_deed(output.text)


def says_own_deed(text: str) -> bool:
    """Whether whoever wrote a text says that they did something in the world."""
    return _OWN_CLAIM.search(text[:CLAIM_CHARACTERS]) is not None


def says_deed(text: str) -> bool:
    """Whether a text seems to say that."""
    return _CLAIM.search(text[:CLAIM_CHARACTERS]) is not None
