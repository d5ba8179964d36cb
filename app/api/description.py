"""The OpenAPI description: what FastAPI derives from the routes, completed with what it cannot know.

Each fact has one place: sentences stand beside the fields they are about, codes beside their meanings, examples in
`examples.yaml`. The steps here bring them together; each changes the document in place.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.document_texts import ANSWER_HEADERS, HEADERS, INTRODUCTION, KEY, STREAM, TAGS
from app.api.examples import ExampleMissing, Examples
from app.api.problem_codes import PROBLEM_CODES
from app.api.schemas.service import ProblemDocument
from app.api.schemas.trace import TextDelta

Json = dict[str, Any]

REFERENCE = "#/components/schemas/"
OF_DRY_RUNS = ("DryRunLocation", "Vary", "IdempotentReplayed", "PreferenceApplied")
"""Headers that name the run of a dry run, also when it has no plan."""
_BESIDE_ROUTES: tuple[type[BaseModel], ...] = (ProblemDocument, TextDelta)
"""What clients get, and no route returns as a model."""


def complete(document: Json) -> Json:
    """The description, complete: everything in it says what it means and shows an example."""
    _name_both_sides(document)
    schemas = document["components"]["schemas"]
    _add_schemas(schemas)
    _describe_the_whole(document)
    _describe_events(schemas)
    _without_defaults(document, schemas)
    _without_nulls(document)
    examples = Examples(schemas)
    _show_examples(document, schemas, examples)
    _add_answers(document, examples)
    _add_headers(document)
    document["components"] = {name: dict(sorted(part.items())) for name, part in sorted(document["components"].items())}
    return document


def operations(document: Json) -> Iterator[Json]:
    """Every operation of the document."""
    for path in document["paths"].values():
        yield from path.values()


def _name_both_sides(document: Json) -> None:
    """Give what has money in it its names: it is sent in more forms than it is answered in, and so has two schemas."""
    schemas = document["components"]["schemas"]
    names = {name: name.removesuffix("-Output") for name in schemas if name.endswith("-Output")}
    names |= {name: f"Sent{name.removesuffix('-Input')}" for name in schemas if name.endswith("-Input")}
    document["paths"] = _renamed(document["paths"], names)
    document["components"]["schemas"] = {names.get(name, name): _renamed(each, names) for name, each in schemas.items()}
    for name in names.values():
        document["components"]["schemas"][name]["title"] = name


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A value with new names in its references."""
    match value:
        case dict():
            return {key: _renamed(item, names) for key, item in value.items()}
        case list():
            return [_renamed(item, names) for item in value]
        case str() if value.startswith(REFERENCE):
            return REFERENCE + names.get(_name(value), _name(value))
        case _:
            return value


def _add_schemas(schemas: Json) -> None:
    _, extra = models_json_schema(
        [(model, "serialization") for model in _BESIDE_ROUTES], ref_template=REFERENCE + "{model}"
    )
    schemas.update(extra["$defs"])


def _describe_the_whole(document: Json) -> None:
    document["info"] |= {"description": INTRODUCTION, "contact": {"name": "Whoever runs this service for you"}}
    document["servers"] = [{"url": "/", "description": "Where this document came from."}]
    document["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": KEY}}
    # A service may be run without keys: what needs none then is said beside what does.
    document["security"] = [{"key": []}, {}]


def _describe_events(schemas: Json) -> None:
    """Say what the discriminated union is, and what the constants in it mean."""
    variants = schemas["Event"]["discriminator"]["mapping"]
    lines = [f"- `{kind}`: {schemas[_name(ref)]['description']}" for kind, ref in variants.items()]
    about = "A durable fact about a run: the same form in the stream, the page and the trace. `type` says which.\n\n"
    schemas["Event"]["description"] = about + "\n".join(lines)
    for kind, ref in variants.items():
        schemas[_name(ref)]["properties"]["type"]["description"] = f"Always `{kind}`."
        for field in schemas[_name(ref)]["properties"].values():
            field.pop("default", None)
        # Fields of the envelope are always there; those of the data may be missing in events of an older release.
        schemas[_name(ref)]["required"] = list(schemas[_name(ref)]["properties"])


def _name(reference: str) -> str:
    return reference.removeprefix(REFERENCE)


def _without_defaults(document: Json, schemas: Json) -> None:
    """Move the defaults of what clients send into words.

    To a generator, a property with a default is always there; what a client may leave out would have to be sent.
    """
    bodies = [operation["requestBody"]["content"] for operation in operations(document) if "requestBody" in operation]
    for name in _reached(bodies, schemas):
        for field in schemas[name].get("properties", {}).values():
            default = field.pop("default", None)
            if default not in (None, "", [], {}) and not isinstance(default, dict):
                field["description"] = f"{field.get('description', '')} Left out: `{json.dumps(default)}`."


def _without_nulls(document: Json) -> None:
    """Say of parameters that may be left out only that: a query or a header cannot say null."""
    for operation in operations(document):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            schema.pop("description", None)
            if (either := schema.pop("anyOf", None)) is not None:
                schema |= next(each for each in either if each != {"type": "null"})


def _reached(value: Any, schemas: Json) -> Iterator[str]:
    """The names of all schemas that a value refers to, directly or by way of others."""
    pending, seen = [value], set()
    while pending:
        match pending.pop():
            case dict() as found:
                name = _name(str(found.get("$ref", "")))
                if name in schemas and name not in seen:
                    seen.add(name)
                    pending.append(schemas[name])
                pending.extend(found.values())
            case list() as items:
                pending.extend(items)
    yield from sorted(seen)


def _show_examples(document: Json, schemas: Json, examples: Examples) -> None:
    for name, schema in schemas.items():
        schema["examples"] = [examples.of(name)]
        for field, described in schema.get("properties", {}).items():
            if examples.is_leaf(described) and field in schema["examples"][0]:
                described["examples"] = [schema["examples"][0][field]]
    for operation in operations(document):
        for parameter in operation.get("parameters", ()):
            with suppress(ExampleMissing):
                parameter["example"] = examples.of_parameter(operation["operationId"], parameter["name"])
        for media in operation.get("requestBody", {}).get("content", {}).values():
            if "encoding" in media:
                continue  # A form, whose parts say what they are like.
            media["examples"] = examples.of_request(operation["operationId"])


def _add_answers(document: Json, examples: Examples) -> None:
    """Put what any operation may answer into one place, with an example for every code."""
    refused = [code for code, meaning in PROBLEM_CODES.items() if meaning.status < HTTPStatus.INTERNAL_SERVER_ERROR]
    answers = {
        "Refused": ("The request is refused.", refused),
        "Unavailable": ("The service cannot answer now.", [code for code in PROBLEM_CODES if code not in refused]),
    }
    document["components"]["responses"] = {
        name: {
            "description": description,
            "content": {
                "application/problem+json": {
                    "schema": {"$ref": REFERENCE + "ProblemDocument"},
                    "examples": {code: {"value": examples.of_problem(code)} for code in codes},
                }
            },
        }
        for name, (description, codes) in answers.items()
    }
    for operation in operations(document):
        for status, name in (("4XX", "Refused"), ("5XX", "Unavailable")):
            if status in operation["responses"]:
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
        stream = operation["responses"].get("200", {}).get("content", {}).get("text/event-stream")
        if stream:
            frames = {"anyOf": [{"$ref": REFERENCE + "Event"}, {"$ref": REFERENCE + "TextDelta"}]}
            told = {"type": "string", "contentMediaType": "text/event-stream", "contentSchema": frames}
            stream |= {"schema": told | {"description": STREAM}, "example": examples.stream}


def _add_headers(document: Json) -> None:
    components = document["components"]
    components["headers"] = {
        name: {
            "description": header.description,
            "required": header.always,
            "schema": {"type": "integer" if isinstance(header.example, int) else "string"},
            "example": header.example,
        }
        for name, header in HEADERS.items()
    }
    _may_have(components["responses"]["Refused"], ("Allow", "Connection", "Authenticate", "RetryAfter", *OF_DRY_RUNS))
    _may_have(components["responses"]["Unavailable"], ("RetryAfter", *OF_DRY_RUNS))
    for operation in operations(document):
        for status, answer in operation["responses"].items():
            if "$ref" not in answer:
                _may_have(answer, ANSWER_HEADERS.get((operation["operationId"], status), ()))


def _may_have(answer: Json, names: Iterable[str]) -> None:
    everywhere = ("RequestId", "CacheControl", "RateLimitPolicy", "RateLimit")
    answer["headers"] = {HEADERS[name].name: {"$ref": f"#/components/headers/{name}"} for name in (*everywhere, *names)}
