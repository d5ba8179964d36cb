"""Functions of installed packages as tools."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from app.tools import threads
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.python_tools import GROUP, PythonToolInvalid, tool_of
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool, ToolAnswer, ToolContext, call

Offer = Callable[..., Tool]


@pytest.fixture
def offer() -> Iterator[Offer]:
    """Makes a function the tool of a package, with these attributes."""
    module = ModuleType("tools_of_a_test")
    sys.modules[module.__name__] = module

    def offer(function: Any, name: str = "count", **attributes: Any) -> Tool:
        if hasattr(function, "__dict__") and not isinstance(function, type):
            vars(function).clear()
        for attribute, value in ({"effect": "read"} | attributes).items():
            setattr(function, attribute, value)
        module.offered = function  # type: ignore[attr-defined]
        return tool_of(EntryPoint(name, f"{module.__name__}:offered", GROUP))

    yield offer
    del sys.modules[module.__name__]


async def answered(tool: Tool, **arguments: Any) -> ToolAnswer:
    return await call({tool.name: tool}, tool.name, arguments, ToolContext((), "run_1:t1:1:call_1"))


class Item(BaseModel):
    article: str
    count: int = 1


def count(
    items: Annotated[list[Item], "What is counted."],
    since: date,
    schema: Annotated[Literal["long", "short"], Field(description="How it is said.")] = "short",
    copy: Decimal | None = None,
) -> Any:
    """Counts things."""
    return {"count": sum(item.count for item in items), "year": since.year, "schema": schema, "copy": copy}


async def test_typed_arguments_are_the_schema_and_the_docstring_is_the_description(offer: Offer) -> None:
    tool = offer(count, timeout_s=7)

    schema = tool.spec.input_schema
    assert (tool.name, tool.description, tool.effect, tool.timeout_s) == ("count", "Counts things.", "read", 7)
    assert [*schema["properties"]] == ["items", "since", "schema", "copy"]
    assert schema["required"] == ["items", "since"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["items"]["description"] == "What is counted."
    assert schema["properties"]["schema"]["description"] == "How it is said."
    assert schema["properties"]["since"]["format"] == "date"
    answer = await answered(tool, items=[{"article": "A1", "count": 2.0}, {"article": "B2"}], since="2026-02-01")
    assert answer.text == '{"count": 3, "year": 2026, "schema": "short", "copy": null}'
    for wrong, place in (
        ({"since": "soon"}, "since: "),
        ({"until": 1}, "until: "),
        ({"items": [{}]}, "items.0.article"),
    ):
        refused = await answered(tool, **({"items": [], "since": "2026-02-01"} | wrong))
        assert refused.error_code == "tool_call_invalid"
        assert place in refused.text


class Leaving(BaseException):
    """What a library of somebody else leaves its loops with."""


async def test_a_plain_function_runs_in_a_thread_of_its_own_and_an_async_one_in_the_loop(offer: Offer) -> None:
    def plain() -> int:
        """Says where it runs."""
        return threading.get_ident()

    async def waiting(idempotency_key: str) -> str:
        """Says where it runs."""
        return f"{threading.get_ident()} {idempotency_key}"

    here = threading.get_ident()
    tool = offer(waiting, effect="idempotent")

    assert (await answered(offer(plain))).text != str(here)
    assert tool.spec.input_schema["properties"] == {}
    assert (await answered(tool)).text == f"{here} run_1:t1:1:call_1"
    assert (await answered(tool, idempotency_key="mine")).error_code == "tool_call_invalid"


@pytest.mark.parametrize(
    "error", [ValueError("no such"), StopIteration("x"), SystemExit(3), KeyboardInterrupt(), Leaving()]
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_whatever_a_function_raises_is_an_error_for_the_model_without_a_traceback(
    offer: Offer, error: BaseException, is_async: bool
) -> None:
    def plain() -> None:
        """Fails."""
        raise error

    async def waiting() -> None:
        """Fails."""
        raise error

    answer = await answered(offer(waiting if is_async else plain))

    assert answer.error_code == "tool_failed"
    assert type(error).__name__ in answer.text
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text


async def test_functions_that_never_return_are_given_up_and_leave_room_until_they_are_too_many(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MOST_AT_ONCE", 2)
    release = threading.Event()

    def hang() -> str:
        """Hangs."""
        release.wait(20)
        return "done"

    tool = offer(hang, timeout_s=0.05)
    answers = [await answered(tool) for _ in range(3)]
    others = [thread for thread in threading.enumerate() if thread.name == "tool count"]
    release.set()
    for thread in others:
        await asyncio.to_thread(thread.join, 5)

    assert [answer.error_code for answer in answers] == ["tool_timeout", "tool_timeout", "tool_busy"]
    assert "busy" in answers[2].text
    assert all(thread.daemon for thread in others)
    assert (await answered(tool)).text == "done"


async def test_a_thread_that_cannot_be_started_takes_no_room(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_AT_ONCE", 1)

    def plain() -> str:
        """Works."""
        return "done"

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    tool = offer(plain)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        refused = await answered(tool)

    assert refused.error_code == "tool_failed"
    assert (await answered(tool)).text == "done"


async def test_results_are_capped_like_those_of_other_tools(offer: Offer) -> None:
    def much() -> str:
        """Says much."""
        return "x" * 100_000

    answer = await answered(offer(much))

    assert len(answer.text) <= 20_000
    assert answer.omitted > 0


def undocumented(text: str) -> str:
    return text


def untyped(text) -> str:  # type: ignore[no-untyped-def]
    """Says it."""
    return str(text)


def unreadable(text: "Nothing") -> str:  # type: ignore[name-defined]  # noqa: F821
    """Says it."""
    return str(text)


def many(*texts: str) -> str:
    """Says them."""
    return texts[0]


def by_place(text: str, /) -> str:
    """Says it."""
    return text


def odd(text: threading.Thread) -> str:
    """Says it."""
    return str(text)


def called(function: Callable[[], None]) -> str:
    """Calls it."""
    return str(function)


@dataclass
class Adder:
    """Adds."""

    left: int


@pytest.mark.parametrize(
    ("function", "attributes", "problem"),
    [
        (undocumented, {}, "its docstring"),
        (untyped, {}, "its argument text has no type"),
        (unreadable, {}, "the types of its arguments cannot be read: name 'Nothing' is not defined"),
        (many, {}, "its argument texts must be one that can be given by name"),
        (by_place, {}, "its argument text must be one that can be given by name"),
        (odd, {}, "its arguments have no JSON form"),
        (called, {}, "its arguments have no JSON form"),
        (count, {"effect": "write"}, "its attribute effect must say what a call does: read, idempotent, once"),
        (count, {"timeout_s": "soon"}, "its attribute timeout_s must be a number"),
        (count, {"timeout_s": 0}, "its attribute timeout_s must be a number"),
        (count, {"name": "Count it"}, "its name must have"),
        (Adder, {}, "it must be a function"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_reason(
    offer: Offer, function: Any, attributes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PythonToolInvalid) as refused:
        offer(function, **attributes)

    assert problem in str(refused.value)
    assert "tools_of_a_test:offered" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["no_such_module_anywhere:f", "app.tools.python_tools:nothing", "this:"])
def test_an_entry_point_that_leads_nowhere_is_refused(value: str) -> None:
    with pytest.raises(PythonToolInvalid, match=r"^tool lost of an installed package .+: (cannot be loaded|it must)"):
        tool_of(EntryPoint("lost", value, GROUP))


def test_no_package_may_take_the_name_of_a_tool_of_the_service(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = offer(count, name="calculate")
    monkeypatch.setattr("app.tools.catalogue.installed_tools", lambda: (tool,))
    sandbox = Sandbox()

    with pytest.raises(PythonToolInvalid, match="tool calculate of an installed package: the service has a tool"):
        catalogue(sandbox, PageFetcher(sandbox))
