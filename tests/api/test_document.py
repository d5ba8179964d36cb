"""The description describes: nothing in it is without a sentence and an example, and it cannot drift from the code."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import jsonschema_rs
import pytest

from app.api.document_texts import ANSWER_HEADERS, HEADERS
from app.api.problem_codes import NO_PLAN, PROBLEM_CODES
from app.domain.codes import ERROR_CODES, STOP_REASONS
from app.domain.errors import ErrorCode
from app.domain.events import FACTS, event_from
from app.domain.failures import codes_with
from tests.api.test_description import DESCRIPTION, OPERATIONS
from tests.support.postgres import ROOT

Json = dict[str, Any]
REFERENCE = re.compile(r"#/components/schemas/([\w.-]+)")

SCHEMAS: Json = DESCRIPTION["components"]["schemas"]
EVENTS: Json = SCHEMAS["Event"]["discriminator"]["mapping"]
FIELDS = [(name, field) for name, schema in SCHEMAS.items() for field in schema.get("properties", {})]


def operation(path: str, method: str) -> Json:
    found: Json = DESCRIPTION["paths"][path][method]
    return found


def problems(example: Any, schema: Json) -> list[str]:
    """What is wrong with an example, by its schema in the document."""
    validator = validator_of(json.dumps(schema))
    return [f"{list(error.instance_path)}: {error.message}" for error in validator.iter_errors(example)]


@cache
def validator_of(schema: str) -> jsonschema_rs.Draft202012Validator:
    """The schema with those of the document that it leads to: a validator holds all that it is given."""
    named = {name: SCHEMAS[name] for name in leads_to(schema)}
    whole = {"components": {"schemas": named}, **json.loads(schema)}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True, offline=True)


def leads_to(schema: str) -> set[str]:
    """Names of the schemas that one refers to, and those refer to."""
    found: set[str] = set()
    ahead = set(REFERENCE.findall(schema))
    while ahead:
        found |= ahead
        ahead = {inner for name in ahead for inner in referred_by(name)} - found
    return found


@cache
def referred_by(name: str) -> list[str]:
    return REFERENCE.findall(json.dumps(SCHEMAS[name]))


def shown(value: Any) -> Iterator[tuple[Any, Json]]:
    """Every example of the document with the schema it belongs to."""
    match value:
        case {"schema": dict() as schema}:
            media = value
            yield from [(media["example"], schema)] if "example" in media else []
            named: Json = value.get("examples", {})
            yield from ((each["value"], schema) for each in named.values())
            yield from shown(schema)
        case dict():
            if isinstance(value.get("examples"), list):
                yield from ((example, value) for example in value["examples"])
            for name, inner in value.items():
                if name != "examples":
                    yield from shown(inner)
        case list():
            for inner in value:
                yield from shown(inner)


def test_every_schema_has_a_description_and_an_example() -> None:
    assert [name for name, each in SCHEMAS.items() if not (each.get("description") and each.get("examples"))] == []


def test_every_field_has_a_description_and_stands_in_the_example() -> None:
    described = {(name, field): SCHEMAS[name]["properties"][field] for name, field in FIELDS}

    assert [
        at for at, each in described.items() if not (each.get("description") or resolved(each).get("description"))
    ] == []
    assert [(name, field) for name, field in FIELDS if field not in SCHEMAS[name]["examples"][0]] == []


def test_every_example_of_the_document_is_valid() -> None:
    found = list(shown(DESCRIPTION))

    assert len(found) > len(FIELDS)
    assert [(example, problem) for example, schema in found for problem in problems(example, schema)] == []


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_parameter_answer_and_header_says_what_it_is(path: str, method: str) -> None:
    described = operation(path, method)
    answers = {status: resolved(answer) for status, answer in described["responses"].items()}

    assert described["summary"]
    assert described["description"]
    assert described["tags"][0] in {tag["name"] for tag in DESCRIPTION["tags"]}
    assert [each["name"] for each in described.get("parameters", ()) if not each.get("description")] == []
    assert [each["name"] for each in described.get("parameters", ()) if "example" not in each] == []
    assert [status for status, answer in answers.items() if not answer["description"]] == []
    assert [status for status, answer in answers.items() if "X-Request-Id" not in answer["headers"]] == []
    bodies = described.get("requestBody", {}).get("content", {})
    assert all(media["examples"] for name, media in bodies.items() if name != "multipart/form-data")
    assert {"4XX", "5XX"} <= answers.keys()


def resolved(part: Json) -> Json:
    """What a reference into the components leads to."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    found: Json = DESCRIPTION["components"][kind][name]
    return found


def test_every_header_is_described_with_an_example() -> None:
    described = DESCRIPTION["components"]["headers"]

    assert [name for name in HEADERS if not (described[name]["description"] and described[name]["example"])] == []


def test_headers_are_listed_for_answers_that_exist() -> None:
    answers = {
        (described["operationId"], status)
        for described in (operation(*each) for each in OPERATIONS)
        for status in described["responses"]
    }

    assert set(ANSWER_HEADERS) - answers == set()


def test_every_event_type_is_in_the_document_with_the_form_of_its_data() -> None:
    assert set(EVENTS) == set(FACTS)
    for name in (reference.rpartition("/")[2] for reference in EVENTS.values()):
        assert SCHEMAS[name]["properties"]["data"]["$ref"].rpartition("/")[2] in SCHEMAS
        assert SCHEMAS[name]["properties"]["type"]["const"] in SCHEMAS["Event"]["description"]


@pytest.mark.parametrize("kind", EVENTS)
def test_the_example_of_every_event_can_be_read_as_one(kind: str) -> None:
    example = SCHEMAS[EVENTS[kind].rpartition("/")[2]]["examples"][0]

    assert event_from(example).type == kind


def test_codes_have_their_meanings_in_the_document() -> None:
    assert SCHEMAS["StopReason"]["x-enumDescriptions"] == STOP_REASONS
    assert SCHEMAS["TaskErrorCode"]["x-enumDescriptions"] == ERROR_CODES
    assert SCHEMAS["ProblemCode"]["enum"] == list(PROBLEM_CODES)
    assert set(ERROR_CODES) == set(get_args(ErrorCode))
    assert set(STOP_REASONS) >= codes_with("end")


def test_the_document_lists_the_codes_of_exactly_the_problems_that_the_code_answers_with() -> None:
    used = {code for module in sorted((ROOT / "app").rglob("*.py")) for code in codes_in(ast.parse(module.read_text()))}

    assert used | set(NO_PLAN) == set(PROBLEM_CODES)
    assert set(NO_PLAN) | {"plan_invalid", "internal_error"} <= set(STOP_REASONS)


def codes_in(tree: ast.AST) -> Iterator[str]:
    """The codes of all problems that a module makes, and those it has in its table of statuses."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Refusal" | "_Refused"), args=[_, ast.Constant(value=str(code)), *_]):
                yield code
            case ast.Call(func=ast.Name(id="JobRefused"), args=[ast.Constant(value=str(code)), *_]):
                yield code
            case ast.Call(func=ast.Name(id="LimitReached"), args=[_, ast.Constant(value=str(code)), *_]):
                yield code
            case ast.Call(func=ast.Name(id="problem"), args=[_, _, ast.Constant(value=str(code)), *_]):
                yield code
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))),
                args=[_, ast.Constant(value=str(code)), *_],
            ):
                yield code
            case ast.Call(
                func=ast.Attribute(attr="get", value=ast.Name(id="_CODES")), args=[_, ast.Constant(value=str(code))]
            ):
                yield code
            case ast.Assign(targets=[ast.Name(id="_CODES")], value=ast.Dict(values=values)):
                yield from (str(value.value) for value in values if isinstance(value, ast.Constant))
