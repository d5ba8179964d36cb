"""The codes of problem documents: what may be wrong with a request, for programs, and the status it comes under."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from typing_extensions import TypeAliasType

from app.domain.codes import described


class Meaning(NamedTuple):
    """What a code says."""

    status: int
    sentence: str


NO_PLAN: Mapping[str, Meaning] = {
    "cancelled": Meaning(409, "The dry run was cancelled before it had a plan."),
    "plan_empty": Meaning(422, "The plan that was made in a dry run has no tasks."),
    "plan_too_large": Meaning(422, "The plan that was made in a dry run has more tasks than the run may have."),
    "plan_truncated": Meaning(422, "The plan that was made in a dry run broke off at the longest reply of its model."),
    "plan_unparseable": Meaning(422, "The reply in a dry run could not be read as a plan."),
    "worker_unknown": Meaning(422, "The plan that was made in a dry run names a worker that the team does not have."),
    "model_refusal": Meaning(422, "The supervisor's model declined to plan the dry run."),
    "budget_exhausted": Meaning(422, "The limits of the job do not suffice to plan it in a dry run."),
    "request_rejected": Meaning(502, "The provider will never accept the request to plan the dry run."),
    "provider_auth": Meaning(502, "The provider did not accept the key in a dry run."),
    "provider_billing": Meaning(502, "The account at the provider could not pay for a dry run."),
    "provider_unavailable": Meaning(503, "The provider could not be reached in a dry run."),
    "deadline_exceeded": Meaning(504, "The time of a dry run was up before it had a plan."),
}
"""Why a dry run has brought no plan, beside `plan_invalid` and `internal_error`: the `stop_reason` of its run."""

PROBLEM_CODES: Mapping[str, Meaning] = {
    "json_invalid": Meaning(400, "The body is not JSON."),
    "request_malformed": Meaning(400, "The request cannot be read."),
    "key_missing": Meaning(401, "The service asks for a key of the API, and the request brings none."),
    "key_invalid": Meaning(401, "The key of the API is unknown, revoked or expired."),
    "scope_missing": Meaning(403, "The key of the API does not allow this."),
    "key_not_found": Meaning(404, "The tenant has no such key of the API."),
    "schedule_not_found": Meaning(404, "The tenant has no such schedule."),
    "engine_not_found": Meaning(404, "There is no such engine, or the key is not one of the operator's."),
    "webhook_not_found": Meaning(404, "The tenant has no webhook."),
    "cursor_invalid": Meaning(400, "The cursor is not one that this service gave out."),
    "idempotency_key_invalid": Meaning(400, "The `Idempotency-Key` is empty, too long or not printable."),
    "form_invalid": Meaning(400, "The body is no `multipart/form-data` that can be read."),
    "header_invalid": Meaning(400, "A header is sent twice, or is too long; `errors` says which."),
    "too_many_pipelined": Meaning(400, "Too many requests wait in line on this connection."),
    "not_found": Meaning(404, "There is nothing at this path."),
    "run_not_found": Meaning(404, "There is no such run."),
    "plan_not_found": Meaning(404, "The run has no such plan, or none yet."),
    "task_not_found": Meaning(404, "The run has no such task."),
    "question_not_found": Meaning(404, "The run has asked no such question."),
    "input_not_found": Meaning(404, "The job of the run had no input of this name."),
    "artifact_not_found": Meaning(404, "The run has handed over no file of this name."),
    "team_not_found": Meaning(404, "There is no such team."),
    "breaker_not_found": Meaning(404, "There is no such breaker: nothing of that name has failed, or can be tripped."),
    "method_not_allowed": Meaning(405, "This path does not take this method."),
    "refused": Meaning(406, "The request is refused for a reason without a code of its own; the status says which."),
    "request_timeout": Meaning(408, "The request did not come in time."),
    "run_ended": Meaning(409, "The run has ended already."),
    "run_not_ended": Meaning(409, "The run has not ended yet: what it will have brought is not known."),
    "nothing_delivered": Meaning(409, "The run has no result, or none that is not left out, to make an answer from."),
    "nothing_failed": Meaning(409, "Every task of the run has delivered: there is nothing to do again."),
    "question_answered": Meaning(409, "Somebody has answered the question already."),
    "question_expired": Meaning(409, "Nobody has answered the question in time; its default was taken."),
    "question_closed": Meaning(409, "The task or the run has ended, and takes no answer any more."),
    "plan_not_waiting": Meaning(409, "The plan of the run does not wait for approval."),
    "plan_approved": Meaning(409, "The plan has been approved already."),
    "plan_rejected": Meaning(409, "The plan has been rejected."),
    "approval_expired": Meaning(409, "Nobody has decided on the plan in time; the default was taken."),
    "nothing_to_deliver": Meaning(409, "Nothing of the run was delivered, or has failed, to a webhook that is told."),
    "webhook_disabled": Meaning(409, "The receiver of the webhook wants nothing more (410); `PUT` has it told again."),
    "team_from_file": Meaning(409, "The team comes from a file of the operator, and is changed there."),
    "schedules_too_many": Meaning(409, "The tenant has as many schedules as it may have."),
    "schedule_changed": Meaning(412, "A client has changed the schedule since it was read."),
    "plan_changed": Meaning(412, "The plan is in another revision than `If-Match` names."),
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
    "plan_invalid": Meaning(422, "The plan of the job, or of an edit, cannot be carried out; `errors` says why."),
    "price_unknown": Meaning(422, "The run has a limit in US dollars, and one of its models has no known price."),
    "webhooks_unavailable": Meaning(422, "The service has no key for the secrets of webhooks, and so tells nobody."),
    "template_missing": Meaning(422, "The job wants its plan from a template, and its team has none."),
    "template_empty": Meaning(422, "The inputs have nothing that the plan template of the team could be about."),
    "template_too_large": Meaning(422, "The plan template of the team makes more of the job than a plan may have."),
    "input_unparseable": Meaning(422, "An input cannot be read as what the plan template of the team needs."),
    "answer_not_offered": Meaning(422, "The answer is none of the question's choices; `errors` names them."),
    "format_not_offered": Meaning(422, "The trace is not offered in this format."),
    "idempotency_key_reused": Meaning(422, "This `Idempotency-Key` was used before with a different body."),
    "if_match_missing": Meaning(428, "An edit of a plan names in `If-Match` the revision that it is about."),
    "too_many_requests": Meaning(429, "The tenant, or the key, sends more requests a second than it may."),
    "too_many_queued": Meaning(429, "As many runs of the tenant, or of the key, wait to begin as may."),
    "spend_limit_reached": Meaning(429, "What the tenant, or the key, may spend in a period is spent, or reserved."),
    "headers_too_large": Meaning(431, "The headers are larger than this service reads."),
    "internal_error": Meaning(500, "A fault of this service; the request id finds it in the log."),
    "run_unreadable": Meaning(503, "The run is of another release than this process; one of that release answers."),
    "database_unavailable": Meaning(503, "The database does not answer; try again in a moment."),
    "schema_unfit": Meaning(503, "The schema of the database is of another release, and this one cannot work with it."),
    "not_listening": Meaning(503, "This process has only just started, or has lost touch with its queue; try again."),
    "bodies_too_many": Meaning(503, "There is no room for this body beside others; try again in a moment."),
    "too_many_connections": Meaning(503, "This process has no room for another connection; try again in a moment."),
    "too_many_readers": Meaning(503, "This process serves as many streams and waiting requests as it can."),
    "intake_paused": Meaning(503, "No new jobs of the tenant are taken in for now; runs under way go on."),
    "draining": Meaning(503, "This process is stopping; another one answers."),
    **NO_PLAN,
}

_LISTED = {code: f"{meaning.sentence} ({meaning.status})" for code, meaning in PROBLEM_CODES.items()}

ProblemCode = TypeAliasType("ProblemCode", Annotated[str, described(_LISTED, "What is wrong with a request.")])
