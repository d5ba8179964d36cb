"""The codes of problem documents: what may be wrong with a request, for programs, and the status it comes under."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from typing_extensions import TypeAliasType

from app.domain.codes import described


class Meaning(NamedTuple):
    """What a code says."""

    status: int
    sentence: str


PROBLEM_CODES: Mapping[str, Meaning] = {
    "json_invalid": Meaning(400, "The body is not JSON."),
    "request_malformed": Meaning(400, "The request cannot be read."),
    "cursor_invalid": Meaning(400, "The cursor is not one that this service gave out."),
    "idempotency_key_invalid": Meaning(400, "The `Idempotency-Key` is empty, too long or not printable."),
    "header_invalid": Meaning(400, "A header is sent twice, or is too long; `errors` says which."),
    "too_many_pipelined": Meaning(400, "Too many requests wait in line on this connection."),
    "not_found": Meaning(404, "There is nothing at this path."),
    "run_not_found": Meaning(404, "There is no such run."),
    "plan_not_found": Meaning(404, "The run has no such plan, or none yet."),
    "task_not_found": Meaning(404, "The run has no such task."),
    "input_not_found": Meaning(404, "The job of the run had no input of this name."),
    "team_not_found": Meaning(404, "There is no such team."),
    "breaker_not_found": Meaning(404, "There is no such breaker: nothing of that name has failed, or can be tripped."),
    "method_not_allowed": Meaning(405, "This path does not take this method."),
    "refused": Meaning(406, "The request is refused for a reason without a code of its own; the status says which."),
    "request_timeout": Meaning(408, "The request did not come in time."),
    "run_ended": Meaning(409, "The run has ended already."),
    "body_too_large": Meaning(413, "The body has more bytes than this service takes."),
    "target_too_long": Meaning(414, "Path and query are longer than this service reads."),
    "content_encoding_unsupported": Meaning(415, "The body is sent encoded, such as with gzip."),
    "media_type_unsupported": Meaning(415, "The body is not sent as `application/json`."),
    "request_invalid": Meaning(422, "The request does not fit the description of this endpoint; `errors` says where."),
    "nesting_too_deep": Meaning(422, "The body nests deeper than this service reads."),
    "too_many_values": Meaning(422, "The body has more values, or more between its texts, than this service reads."),
    "number_out_of_range": Meaning(422, "The body has a number beyond the range or the precision that is kept."),
    "parameter_unknown": Meaning(422, "A query parameter is not known here, or is given twice; `errors` says which."),
    "team_unknown": Meaning(422, "The job names a team that is not known."),
    "plan_invalid": Meaning(422, "The plan of the job cannot be carried out; `errors` says why."),
    "price_unknown": Meaning(422, "The run has a limit in US dollars, and one of its models has no known price."),
    "dry_run_not_offered": Meaning(422, "Dry runs are not offered; the job was not executed."),
    "format_not_offered": Meaning(422, "The trace is not offered in this format."),
    "idempotency_key_reused": Meaning(422, "This `Idempotency-Key` was used before with a different body."),
    "headers_too_large": Meaning(431, "The headers are larger than this service reads."),
    "internal_error": Meaning(500, "A fault of this service; the request id finds it in the log."),
    "database_unavailable": Meaning(503, "The database does not answer; try again in a moment."),
    "not_listening": Meaning(503, "This process has only just started, or has lost touch with its queue; try again."),
    "bodies_too_many": Meaning(503, "There is no room for this body beside others; try again in a moment."),
    "too_many_connections": Meaning(503, "This process has no room for another connection; try again in a moment."),
    "too_many_readers": Meaning(503, "This process serves as many streams and waiting requests as it can."),
    "draining": Meaning(503, "This process is stopping; another one answers."),
}

_LISTED = {code: f"{meaning.sentence} ({meaning.status})" for code, meaning in PROBLEM_CODES.items()}

ProblemCode = TypeAliasType("ProblemCode", Annotated[str, described(_LISTED, "What is wrong with a request.")])
