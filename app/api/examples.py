"""Examples for the description. `examples.yaml` holds what plain fields show; the rest is put together from its parts,
so that the examples tell one story and a new field needs one line."""

from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from importlib.resources import files
from typing import Any

import yaml

from app.api.problem_codes import PROBLEM_CODES

Json = dict[str, Any]


class ExampleMissing(Exception):
    """A field of the description has no example; one line in `app/api/examples.yaml` gives it one."""


class Examples:
    """Examples of the schemas, parameters and requests of a description."""

    def __init__(self, schemas: Json) -> None:
        self._schemas = schemas
        self._told: Json = yaml.safe_load((files("app.api") / "examples.yaml").read_text(encoding="utf-8"))
        self._made: Json = {}

    def of(self, name: str) -> Any:
        """The example of a schema."""
        if name not in self._made:
            self._made[name] = self._of_whole(name, self._schemas[name])
        return self._made[name]

    def of_parameter(self, operation: str, name: str) -> Any:
        """The example of a parameter: that of the operation, or the one for all parameters of this name."""
        told: Json = self._told["parameters"]
        return told.get(operation, {}).get(name) or _told(told["any"], name.lower(), f"parameter {name}")

    def of_request(self, operation: str) -> Json:
        """The examples of an operation's body, by name."""
        found: Json = self._told["requests"].get(operation, {})
        return found

    def of_problem(self, code: str) -> Json:
        """The document of a problem."""
        status, sentence = PROBLEM_CODES[code]
        shown: Json = self.of("ProblemDocument") | {
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": sentence,
            "code": code,
        }
        where = {"errors": shown["errors"]} if code == "request_invalid" else {}
        return {name: value for name, value in shown.items() if name != "errors"} | where

    @cached_property
    def stream(self) -> str:
        """The beginning of a stream."""
        text: str = self._told["stream"]
        return text

    def is_leaf(self, schema: Json) -> bool:
        """Whether a field is to show an example itself, as no schema that it refers to does."""
        if reference := schema.get("$ref"):
            return not {"properties", "oneOf"} & self._schemas[_name(reference)].keys()
        if "items" in schema:
            return self.is_leaf(schema["items"])
        return all(map(self.is_leaf, schema.get("anyOf", ())))

    def _of_whole(self, name: str, schema: Json) -> Any:
        if "oneOf" in schema:
            return self._derived(schema["oneOf"][0], name)
        if "properties" not in schema:
            return self._derived(schema, name)
        told = {**self._told["fields"], **self._told["schemas"].get(name, {})}
        made = {}
        for field, described in schema["properties"].items():
            with suppress(ExampleMissing):  # A test names what is missing; the document is served without it.
                made[field] = told[field] if field in told else self._derived(described, f"{name}.{field}")
        return made

    def _derived(self, schema: Json, place: str) -> Any:
        """What the schema itself gives away."""
        match schema:
            case {"$ref": reference}:
                return self.of(_name(reference))
            case {"const": value}:
                return value
            case {"enum": [value, *_]}:
                return value
            case {"anyOf": [first, *_]}:
                return self._derived(first, place)
            case {"items": items}:
                return [self._derived(items, place)]
            case {"type": "null"}:
                return None
        raise ExampleMissing(place)


def _told(examples: Json, key: Any, place: str) -> Any:
    if key not in examples:
        raise ExampleMissing(place)
    return examples[key]


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
