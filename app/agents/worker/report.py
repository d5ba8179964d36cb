"""A worker's final words, a result or an escalation: the schema they are held to, and how they are read."""

import json
from itertools import islice
from typing import Annotated, Any, get_args

import jsonschema_rs
from pydantic import BaseModel, BeforeValidator

from app.agents.caller_shape import as_asked, taken
from app.agents.files import FILES, read_files
from app.agents.finding_shapes import FINDINGS
from app.agents.reading import MOST_FLAWS, Unreadable, read_as, read_json, read_json_or_prose
from app.agents.shapes import NUMBER, TEXT, Schema, closed, listed, one_of, or_null
from app.domain.findings import ReportedFindings
from app.domain.flaws import Flaw, pointer_to
from app.domain.instruction_like import is_instruction_like
from app.domain.results import Escalation, EscalationReason, Output
from app.domain.text import shorten, texts_within
from app.domain.worker import Worker

SUMMARY_CHARACTERS = 500
REPORT_FIELDS = frozenset({"summary", "text", "escalation"})


def report_schema(data: Schema | None, *, files: bool = False) -> Schema:
    """A worker's result or escalation; `data` is the schema of the worker's own structured part, and `files` says
    whether it may hand some over.

    Who escalates has none, so it may be null. What it defines is defined for the whole, where its references look.
    """
    escalation = closed(reason=one_of(get_args(EscalationReason)), message=TEXT)
    fields = {"summary": TEXT, "text": TEXT, "confidence": NUMBER, "sources": listed(TEXT)}
    if files:
        fields["artifacts"] = FILES
    if data is None:
        return closed(**fields, escalation=or_null(escalation))
    asked = as_asked(data)
    own = {name: value for name, value in asked.items() if name != "$defs"}
    report = closed(**fields, data=or_null(own), escalation=or_null(escalation))
    return report | {"$defs": asked["$defs"]} if "$defs" in asked else report


def data_schema_of(worker: Worker) -> Schema | None:
    """What the data of a worker's report must fit; None for one that has none."""
    return FINDINGS if worker.finds else worker.output_schema


def report_of(text: str, worker: Worker) -> Output | Escalation:
    """What a worker handed back. Raises `Unreadable` for what cannot be used."""
    said = read_report(text, data_schema_of(worker), files=worker.artifacts)
    if worker.finds and isinstance(said, Output):
        _read_findings(said.data)
    return said


def _read_findings(data: Any) -> None:
    """Check what the schema cannot say: the bounds of numbers and texts."""
    try:
        read_as(ReportedFindings, data, "output_invalid")
    except Unreadable as error:
        placed = [flaw.model_copy(update={"pointer": f"/data{flaw.pointer}"}) for flaw in error.flaws]
        raise Unreadable(placed) from None


def _listed(value: Any) -> Any:
    return () if value is None else (value,) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return "" if value is None else value


class _Escalated(BaseModel):
    reason: str
    message: Annotated[str, BeforeValidator(_text)] = ""


class _Report(BaseModel):
    summary: Annotated[str, BeforeValidator(_text)] = ""
    text: Annotated[str, BeforeValidator(_text)] = ""
    data: Any = None
    confidence: float | None = None
    sources: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    escalation: _Escalated | None = None


def read_report(text: str, data_schema: dict[str, Any] | None, *, files: bool = False) -> Output | Escalation:
    """What a worker handed back, with `files` if it may. Raises `Unreadable` when nothing usable is there.

    A model that does not keep to JSON may answer in prose: that is the result then, without a confidence. Where the
    worker has a schema for its data, the data must be there and fit.
    """
    value = _value(text, strict=data_schema is not None)
    if isinstance(value, str):
        summary = shorten(value, SUMMARY_CHARACTERS)[0]
        return Output(summary=summary, text=value, free_form=True, instruction_like=is_instruction_like(value))
    free_form = bool(value) and not REPORT_FIELDS & value.keys()
    if free_form:
        whole = json.dumps(value, ensure_ascii=False)
        value = {"summary": shorten(whole, SUMMARY_CHARACTERS)[0], "text": whole, "data": value}
    report = read_as(_Report, value, "output_invalid")
    if report.escalation is not None:
        return _escalation(report.escalation, report)
    if data_schema is not None:
        report = report.model_copy(update={"data": taken(report.data, data_schema)})
        _must_fit(report.data, data_schema)
    if not (report.summary.strip() or report.text.strip()):
        raise Unreadable([Flaw(code="output_invalid", detail="both summary and text are empty")])
    output = Output(
        summary=report.summary or shorten(report.text, SUMMARY_CHARACTERS)[0],
        data=report.data,
        text=report.text,
        confidence=None if report.confidence is None else min(max(report.confidence, 0.0), 1.0),
        sources=report.sources,
        free_form=free_form,
        artifacts=read_files(value) if files else (),
    )
    speaks_so = any(map(is_instruction_like, (*output.texts, *texts_within(output.data))))
    return output.model_copy(update={"instruction_like": speaks_so})


def _value(text: str, *, strict: bool) -> Any:
    """The JSON object in the text, or the text itself where prose will do."""
    value = read_json(text, "output_invalid") if strict else read_json_or_prose(text, "output_invalid", REPORT_FIELDS)
    return {"data": value, "text": text.strip()} if isinstance(value, list) else value


def _escalation(escalated: _Escalated, report: _Report) -> Escalation:
    value = {"reason": escalated.reason, "message": escalated.message, "partial": report.text or report.summary or None}
    return read_as(Escalation, value, "output_invalid")


def _must_fit(data: Any, schema: dict[str, Any]) -> None:
    """Check `data` against the worker's schema. References are never fetched."""
    validator = jsonschema_rs.validator_for(schema, offline=True, validate_formats=True)
    flaws = [
        Flaw(
            code="output_invalid",
            pointer=pointer_to("data", *error.instance_path),
            detail=f"data{''.join(f'.{part}' for part in error.instance_path)}: {error.message}",
        )
        for error in islice(validator.iter_errors(data), MOST_FLAWS)
    ]
    if flaws:
        raise Unreadable(flaws)
