import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.conversation import Message, ToolSpec
from app.llm.claude import Claude
from app.llm.tool_names import wire_name
from tests.support.model_calls import assistant, request, user
from tests.support.stub_answers import call, tool_calls
from tests.support.stub_provider import StubProvider

OURS = ToolSpec("books/find_book", "Finds a book.", {"type": "object"})
CALCULATE = ToolSpec("calculate", "Calculates.", {"type": "object"})
ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
names = st.text("ab1_-./é", min_size=1, max_size=80)


@given(st.lists(names, min_size=2, max_size=20, unique=True))
def test_any_name_has_one_on_the_wire_that_no_other_has(given_names: list[str]) -> None:
    written = {name: wire_name(name) for name in given_names}

    assert all(ALLOWED.fullmatch(name) for name in written.values())
    assert [pair for pair in combinations(given_names, 2) if written[pair[0]] == written[pair[1]]] == []


def test_names_that_the_api_takes_stay_and_those_of_servers_can_be_read() -> None:
    assert wire_name("read_input") == "read_input"
    assert wire_name("books/find_book") == "books__find_book"
    # What could be taken for another name is told apart by its hash, and so is what would be too long.
    assert wire_name("books__find_book").startswith("t_")
    assert wire_name(f"books/{'x' * 60}").startswith("t_")
    assert wire_name("books/find.book") == "t_be83a7ebe664__books-find-book"


async def test_a_tool_has_its_name_on_the_wire_and_ours_in_the_reply(claude: Claude, stub: StubProvider) -> None:
    stub.on("work", tool_calls(call("books__find_book", {}, call_id="toolu_1"), call("calculate", {})))

    reply = await claude.reply(request(tools=[OURS, CALCULATE]))

    assert [tool["name"] for tool in stub.log[0].body["tools"]] == ["books__find_book", "calculate"]
    assert [block["name"] for block in reply.content if block["type"] == "tool_use"] == ["books/find_book", "calculate"]


async def test_a_call_goes_back_as_it_came(claude: Claude, stub: StubProvider) -> None:
    asked = {"type": "tool_use", "id": "toolu_1", "name": "books/find_book", "input": {}}
    invented = {"type": "tool_use", "id": "toolu_2", "name": "books__nothing", "input": {}}
    answered = [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "4"} for n in (1, 2)]
    talk = [user("Find."), assistant(asked, invented), Message("user", answered)]

    await claude.reply(request(messages=talk, tools=[OURS]))
    await claude.reply(request(messages=talk, tools=[]))  # a process whose server lacks the tool

    for seen in stub.log:
        assert [block["name"] for block in seen.body["messages"][1]["content"]] == [
            "books__find_book",
            "books__nothing",
        ]
