import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.api.app import create_app
from tests.support.api import Api

EXAMPLES = hypothesis.settings(
    max_examples=8, deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)
Check = Callable[[Any], None]
"""Sends a request that schemathesis has thought of, and holds the answer to the description."""
UNSAID = {"content-length", "content-type", "date", "server", "transfer-encoding"}
"""Headers that every HTTP answer may have."""


def every_header_is_described(ctx: Any, response: Any, case: Any) -> None:
    """An answer has no header that the description does not name."""
    answers = case.operation.definition.raw["responses"]
    status = str(response.status_code)
    answer = answers.get(status) or answers[f"{status[0]}XX"]
    if "$ref" in answer:
        answer = DESCRIPTION["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    described = {name.lower() for name in answer["headers"]}
    assert {name.lower() for name in response.headers} - UNSAID - described == set()


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    every_header_is_described,
]


def described() -> dict[str, Any]:
    def nothing() -> Any:
        raise AssertionError("a description needs no runtime")

    return create_app(nothing, body_limit_bytes=1).openapi()


DESCRIPTION = described()
OPERATIONS = [(path, method) for path, methods in DESCRIPTION["paths"].items() for method in methods]


def probe(path: str, method: str, known: Mapping[str, str], examples: hypothesis.settings, check: Check) -> None:
    """Think of requests of all kinds to one operation, half of them with names that are known, and `check` each."""
    operation = schemathesis.openapi.from_dict(DESCRIPTION)[path][method.upper()]

    @examples
    @hypothesis.given(case=operation.as_strategy(), real=hypothesis.strategies.booleans())
    def thought_of(case: Any, real: bool) -> None:
        if real:
            case.path_parameters = {
                name: known.get(name, value) for name, value in (case.path_parameters or {}).items()
            }
        if case.headers:
            case.headers.pop("Prefer", None)  # a wait of a minute would be kept
        if case.query:
            case.query.pop("dry_run", None)  # and so would that for a plan, which nobody makes here
        check(case)

    try:
        thought_of()
    except BaseException as fault:
        fault.add_note(f"{method.upper()} {path}")
        raise


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_answers_to_whatever_is_sent_are_as_described(api: Api, address: str, path: str, method: str) -> None:
    run_id = await api.ended()

    def check(case: Any) -> None:
        case.call_and_validate(base_url=address, checks=CHECKS, timeout=10)

    await asyncio.to_thread(probe, path, method, {"run_id": run_id}, EXAMPLES, check)


def test_every_name_in_the_description_is_one_a_client_can_say() -> None:
    assert [name for name in DESCRIPTION["components"]["schemas"] if "__" in name] == []
    assert all("_v1_" not in each["operationId"] for path in DESCRIPTION["paths"].values() for each in path.values())


def test_every_reference_in_the_description_leads_somewhere() -> None:
    known = {f"#/components/{kind}/{name}" for kind, parts in DESCRIPTION["components"].items() for name in parts}
    pending: list[Any] = [DESCRIPTION]
    found = set()
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            found |= {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)

    assert found
    assert found - known == set()
