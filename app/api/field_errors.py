"""What is wrong with a request, said without repeating what the client sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.domain import flaws
from app.domain.places import known_part

FIELD_ERRORS_SHOWN = 50
NAME_SHOWN = 100
"""Characters of a client's own field name that an answer repeats."""

_NAME = "lower-case letters, digits and hyphens, beginning with a letter or digit"
_IN_PLAIN_WORDS = {
    "/team": f"A team is named as `name` or `name@version`; a name has up to 64 {_NAME}.",
    "team": f"The name of a team has up to 64 {_NAME}.",
    "": "A JSON object is expected.",
}
"""What is said of a place, whatever is wrong with it."""


def field_errors_of(errors: Iterable[Mapping[str, Any]], body: Any) -> list[dict[str, str]]:
    """Validation errors as `{pointer, detail}` for the body and `{parameter, detail}` for the rest, one a place.

    Places behind the first `FIELD_ERRORS_SHOWN` are left out.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        source, *path = error["loc"]
        if source == "body":
            place = "pointer", _pointer(path, body, error["type"])
        else:
            place = "parameter", str(path[0])[:NAME_SHOWN] if path else str(source)
        if len(places) == FIELD_ERRORS_SHOWN and place not in places:
            break
        details = places.setdefault(place, [])
        if (detail := _detail(error, place[1])) not in details:
            details.append(detail)
    return [{kind: name, "detail": "; ".join(details)} for (kind, name), details in places.items()]


def pointer_to(*path: str | int) -> str:
    """The JSON pointer to a place, with every name in it cut to what is shown."""
    return flaws.pointer_to(*(str(part)[:NAME_SHOWN] for part in path))


def _pointer(path: Sequence[str | int], body: Any, kind: str) -> str:
    """The pointer to the place of an error; marks that the validator adds for itself are left out."""
    return pointer_to(*known_part(path, body, missing=kind == "missing"))


_SENTENCES = {
    "missing": "This is required.",
    "string_type": "This must be a text.",
    "int_type": "This must be a whole number.",
    "int_parsing": "This must be a whole number.",
    "int_parsing_size": "This number is too large.",
    "int_from_float": "This must be a whole number.",
    "float_type": "This must be a number.",
    "float_parsing": "This must be a number.",
    "decimal_type": "This must be an amount of money, as a text or a number.",
    "decimal_parsing": "This must be an amount of money, as a text or a number.",
    "decimal_max_digits": "This may have at most {max_digits} digits.",
    "decimal_max_places": "This may have at most {decimal_places} digits behind the point.",
    "decimal_whole_digits": "This may have at most {whole_digits} digits before the point.",
    "bool_type": "This must be true or false.",
    "bool_parsing": "This must be true or false.",
    "tuple_type": "This must be a list.",
    "list_type": "This must be a list.",
    "dict_type": "This must be an object.",
    "model_type": "This must be an object.",
    "model_attributes_type": "This must be an object.",
    "none_required": "This must be left out or null.",
    "too_long": "This may have at most {max_length} items.",
    "too_short": "This must have at least {min_length} items.",
    "string_too_long": "This may have at most {max_length} characters.",
    "string_too_short": "This must have at least {min_length} characters.",
    "string_pattern_mismatch": "This does not have the form that the description asks for.",
    "greater_than": "This must be more than {gt}.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than": "This must be less than {lt}.",
    "less_than_equal": "This must be at most {le}.",
    "finite_number": "This must be a number.",
}
"""What each kind of error means, for people who know JSON but not how this service is made."""


def _detail(error: Mapping[str, Any], place: str) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing" and place == "":
        return "The request has no body; a JSON object is expected."
    if kind == "extra_forbidden":
        return f"Unknown field: {str(error['loc'][-1])[:NAME_SHOWN]}"
    if kind == "team_fault":
        return str(error["msg"])
    if place in _IN_PLAIN_WORDS and kind != "missing":
        return _IN_PLAIN_WORDS[place]
    if place.startswith("/metadata/") and kind.endswith(("_type", "_parsing", "_from_float")):
        return "A value of metadata is a text, a number, true, false or null."
    if kind in _SENTENCES:
        return _SENTENCES[kind].format_map(context)
    return str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "This must be")
