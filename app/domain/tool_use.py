"""Which tools were called in a conversation, and whether they brought anything: what a result can rest on."""

from collections.abc import Iterator

from app.domain.conversation import Conversation, tool_calls_of
from app.domain.results import Output


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


def with_calls(output: Output, talk: Conversation) -> Output:
    """The result with how many calls its worker has made, and whether none of them brought anything."""
    made = [succeeded for _, succeeded in calls_made(talk)]
    return output.model_copy(update={"tool_calls": len(made), "unverified": bool(made) and not any(made)})
