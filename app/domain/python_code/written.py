"""Tests as a worker hands them over, in the `data` of its result."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.flaws import Flaw, rejected

MOST_TESTS = 200
CODE_CHARACTERS = 20_000
TOGETHER_CHARACTERS = 150_000
"""Of all code of one result."""
MOST_FLAWS = 20


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class WrittenTest(_Value):
    """One test."""

    function: str
    """What it tests, as the task names it: `parse`, `Ledger`, `Ledger.add`."""
    input: str
    """Name of the input that this is in."""
    kind: Literal["ordinary", "edge", "exception"]
    """What it is a test of: the ordinary case, an edge of what is allowed, or an exception."""
    raises: str | None = None
    """The exception that it is about; null where it is about none."""
    code: str = Field(min_length=1, max_length=CODE_CHARACTERS)
    """A single test function, or a single class of tests, complete but for the imports."""


class WrittenTests(_Value):
    """The tests of one result."""

    imports: tuple[str, ...] = Field(default=(), max_length=MOST_TESTS)
    """The imports that the tests need, one statement each."""
    tests: tuple[WrittenTest, ...] = Field(min_length=1, max_length=MOST_TESTS)
    """The tests."""


def read_written(data: Any) -> WrittenTests | list[Flaw]:
    """The tests in a result's data, or what is wrong with its form."""
    try:
        written = WrittenTests.model_validate(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)[:MOST_FLAWS]
        return [rejected(f"data.{'.'.join(map(str, each['loc']))}: {each['msg']}", *each["loc"]) for each in faults]
    characters = sum(len(each.code) for each in written.tests) + sum(map(len, written.imports))
    if characters > TOGETHER_CHARACTERS:
        return [rejected(f"the code has {characters} characters; at most {TOGETHER_CHARACTERS} can be looked at")]
    return written
