"""What SARIF 2.1.0 (OASIS, errata 01) says of the objects that we write, as a JSON Schema of our own.

It is closed: a property that we do not describe here is a mistake, of ours or of this. Numbers in the comments are
sections of the standard.
"""

from typing import Any

import jsonschema_rs

Schema = dict[str, Any]

LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
TEXT: Schema = {"type": "string", "minLength": 1}
COUNTED: Schema = {"type": "integer", "minimum": 1}
INDEX: Schema = {"type": "integer", "minimum": -1}


def _closed(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def _unique(items: Schema) -> Schema:
    return {"type": "array", "uniqueItems": True, "items": items}


MESSAGE = _closed("text", text=TEXT)  # 3.11: either text or id
ARTIFACT = _closed("uri", uri={"type": "string", "format": "uri-reference"}, uriBaseId=TEXT)  # 3.4
REGION = _closed(
    "startLine", startLine=COUNTED, endLine=COUNTED, snippet=_closed("text", text={"type": "string"})
)  # 3.30
LOCATION = _closed(  # 3.28
    "physicalLocation",
    physicalLocation=_closed("artifactLocation", artifactLocation=ARTIFACT, region=REGION),  # 3.29
)
RULE = _closed(  # 3.49
    "id",
    id=TEXT,
    shortDescription=_closed("text", text=TEXT),
    defaultConfiguration=_closed(level=LEVEL),  # 3.50
)
SUPPRESSION = _closed(  # 3.35
    "kind",
    kind={"enum": ["inSource", "external"]},
    status={"enum": ["accepted", "underReview", "rejected"]},
    justification=TEXT,
)
RESULT = _closed(  # 3.27
    "message",
    ruleId=TEXT,
    ruleIndex=INDEX,
    level=LEVEL,
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": TEXT, "propertyNames": {"pattern": "/v[0-9]+$"}},
    rank={"type": "number", "minimum": -1, "maximum": 100},
    suppressions=_unique(SUPPRESSION),
    properties={"type": "object"},
)
NOTIFICATION = _closed(  # 3.58
    "message", level=LEVEL, message=MESSAGE, locations=_unique(LOCATION)
)
RUN = _closed(  # 3.14
    "tool",
    tool=_closed("driver", driver=_closed("name", name=TEXT, rules=_unique(RULE))),  # 3.18, 3.19
    automationDetails=_closed(id=TEXT),  # 3.17
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": _closed(uri=TEXT, description=_closed("text", text=TEXT)),
    },
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations={
        "type": "array",
        "items": _closed(  # 3.20
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications={"type": "array", "items": NOTIFICATION},
        ),
    },
    results={"type": "array", "items": RESULT},
)
LOG = _closed("version", "runs", version={"const": "2.1.0"}, runs={"type": "array", "items": RUN})  # 3.13
LOG["properties"]["$schema"] = {"type": "string", "format": "uri"}

SARIF = jsonschema_rs.validator_for(LOG, validate_formats=True)
"""Holds a log against it."""
