"""What the description of the API says in words: what this is, its parts, and the headers of its answers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

INTRODUCTION = """\
You post a **job**: an objective in plain words, with the texts and data to work on. Its execution is a **run**, the
resource that everything else hangs on. A **supervisor** (a language model) turns the objective into a **plan**, a graph
of **tasks**; **workers** (models with instructions and tools of their own) do the tasks, side by side where they can,
each in one or more **attempts**; the supervisor puts what they delivered together into one answer. The result says
which tasks each **statement** of the answer rests on, where results contradict each other, what is missing (**gaps**),
and how many of the required tasks delivered (**coverage**). Supervisor, workers, tools and limits are a **team**.

Everything that happens in a run is an **event** with a number. Read them as they come, page by page, or all at once
with the **trace**.

**From a job to its answer**: `POST /v1/jobs` answers at once with the run. Then either `GET /v1/runs/{run_id}` with
`Prefer: wait=60` until `status` is `succeeded`, `partial`, `failed` or `cancelled`; or follow
`GET /v1/runs/{run_id}/events` with `Accept: text/event-stream`.

**Errors** are problem documents (RFC 9457) with a stable `code`. What is not known is refused, not ignored: fields of
bodies, for instance. **Safe repetition**: a `POST /v1/jobs` that got no answer is sent again under the same
`Idempotency-Key`.

**Growth**: a later release may add fields, event types and codes, and drops none. Ignore what you do not know.

**Keys**: where the service asks for them, each request brings one: `Authorization: Bearer <chk_…>`. A key belongs to a
tenant, and what other tenants have is answered as if it were not there. What it allows are its scopes: `jobs:write` to
send and steer jobs, `runs:read` to read, `teams:write` to change teams, and `admin` for all of it, keys and breakers.

**Limits**: what goes beyond a limit of its tenant or key is refused with 429 and `Retry-After`. `GET /v1/limits` says
what applies, and `RateLimit` how much of it is left.
"""

KEY = "A key of the API, as `chargehand keys create` or `POST /v1/keys` has shown it."

TAGS: Mapping[str, str] = {
    "jobs": "Taking in jobs.",
    "runs": "Runs, and what belongs to them: inputs, plan, tasks, files, events, trace, cancellation.",
    "schedules": "Jobs that come at times of their own: again and again, or once at a moment.",
    "breakers": "What is left alone for a while since it keeps failing, for all replicas.",
    "teams": "The teams that a job may name, their versions, and the tools their workers may have.",
    "operations": "For those who run the service.",
}

STREAM = """\
The events as server-sent events. `id` is the number of the event (`seq`), `event` its type, `data` an `Event` as JSON,
the same that the page and the trace show. Since every event is named, `EventSource` needs a listener for each type;
`onmessage` is never called.

- The stream replays what the client lacks and then follows the run. It ends behind the event that ends the run.
- Comments (`: still here`) come when nothing has happened for a while. A client that hears nothing for a minute has
  lost the connection.
- After a break, send the last `id` as `Last-Event-ID`; browsers do so by themselves. `retry`, in the first frame, says
  when to come back.
- With `deltas=true`, frames of type `text.delta` carry text while it is written. Their `data` is a `TextDelta`; they
  have no `id` and are not repeated.
- With nothing left to send, the answer is 204 without a body, which tells `EventSource` not to come back. A client that
  insists on the media type of a stream (httpx-sse raises `SSEError`) must look at the status first.
"""


class Header(NamedTuple):
    """A header of an answer."""

    name: str
    description: str
    example: str | int
    always: bool = False
    """Whether every answer that may have it does."""


HEADERS: Mapping[str, Header] = {
    "RequestId": Header(
        "X-Request-Id",
        "Id of the request: the client's own `X-Request-Id` when it sent a sound one. The log knows it.",
        "5c21e5edb16b488899879f6c781c2fb1",
        always=True,
    ),
    "Location": Header("Location", "Path of the run.", "/v1/runs/run_01a22168085c7788a2fef2a36551fa03", always=True),
    "ScheduleLocation": Header(
        "Location", "Path of the schedule.", "/v1/schedules/sch_01a2f31b08f97d2ea4c5d6e7f8091a2b"
    ),
    "ScheduleETag": Header("ETag", "The version of the schedule, for `If-Match` with a change.", '"1"', always=True),
    "TeamLocation": Header("Location", "Path of the new version.", "/v1/teams/invoices@2", always=True),
    "DryRunLocation": Header(
        "Location", "Path of the run of a dry run without a plan.", "/v1/runs/run_01a22168085c7788a2fef2a36551fa03"
    ),
    "ETag": Header(
        "ETag",
        "The state of the run, for `If-None-Match`. Weak until the run has ended, since its clocks tick.",
        '"run_01a22168085c7788a2fef2a36551fa03-43-succeeded"',
        always=True,
    ),
    "PlanETag": Header(
        "ETag", "The revision of the plan, for `If-Match` with an edit, an approval or a rejection.", '"1"', always=True
    ),
    "InputETag": Header(
        "ETag", "Names the input, which never changes.", '"run_01a22168085c7788a2fef2a36551fa03"', always=True
    ),
    "Disposition": Header(
        "Content-Disposition",
        "`inline` for plain text, CSV, Markdown and JSON; `attachment` for anything else. With the name of the input.",
        "inline; filename*=UTF-8''sales.csv",
        always=True,
    ),
    "ArtifactETag": Header(
        "ETag", "Names what is in the file, which never changes.", '"9f86d081884c7d659a2feaa0c55ad015"', always=True
    ),
    "Attachment": Header(
        "Content-Disposition",
        "`attachment`, with the name of the file: it is to be saved, whatever it is.",
        "attachment; filename=\"review.md\"; filename*=UTF-8''review.md",
        always=True,
    ),
    "NoSniffing": Header("X-Content-Type-Options", "`nosniff`: it is what it says it is.", "nosniff", always=True),
    "RetryAfter": Header("Retry-After", "Seconds after which to ask again.", 1),
    "CacheControl": Header("Cache-Control", "`no-store` under `/v1/`: nobody may keep what tells of jobs.", "no-store"),
    "Vary": Header("Vary", "The request headers that the answer depends on.", "Prefer"),
    "PreferenceApplied": Header("Preference-Applied", "The preference that was followed (RFC 7240).", "wait=30"),
    "IdempotentReplayed": Header(
        "Idempotent-Replayed", "`true` when the run had been made by an earlier request under the same key.", "true"
    ),
    "Buffering": Header("X-Accel-Buffering", "`no` on a stream: tells proxies to pass it on at once.", "no"),
    "RateLimitPolicy": Header(
        "RateLimit-Policy",
        "The limits of the caller that the request has met (draft-ietf-httpapi-ratelimit-headers-10): how much (`q`), "
        "in how many seconds (`w`), of what (`qu`; requests without it). Only where the caller has limits.",
        '"requests";q=100;w=1',
    ),
    "RateLimit": Header(
        "RateLimit",
        "What is left of each (`r`), and when all of it is there again, in seconds (`t`).",
        '"requests";r=50;t=1',
    ),
    "Allow": Header("Allow", "The methods that the path takes, when it did not take this one.", "GET"),
    "Authenticate": Header("WWW-Authenticate", "How to bring a key (401).", 'Bearer realm="chargehand"'),
    "Connection": Header("Connection", "`close` when a body was refused.", "close"),
    "SecurityPolicy": Header(
        "Content-Security-Policy", "What a browser may do with it: next to nothing.", "default-src 'self'"
    ),
}

ANSWER_HEADERS: Mapping[tuple[str, str], Sequence[str]] = {
    ("accept_job", "202"): ("Location", "RetryAfter", "Vary", "PreferenceApplied", "IdempotentReplayed"),
    ("accept_job", "200"): ("Location", "Vary", "PreferenceApplied", "IdempotentReplayed"),
    **{
        (operation, status): ("Location", *told, "Vary", "PreferenceApplied", "IdempotentReplayed")
        for operation in ("resynthesize_a_run", "fork_a_run", "retry_a_run")
        for status, told in (("202", ("RetryAfter",)), ("200", ()))
    },
    ("get_run", "200"): ("ETag", "Vary", "PreferenceApplied"),
    ("get_run", "304"): ("ETag", "Vary", "PreferenceApplied"),
    ("get_plan", "200"): ("PlanETag",),
    ("edit_a_plan", "200"): ("PlanETag",),
    ("list_or_follow_events", "200"): ("Vary", "Buffering"),
    ("get_input", "200"): ("InputETag", "Disposition", "NoSniffing", "SecurityPolicy"),
    ("get_input", "304"): ("InputETag",),
    ("get_artifact", "200"): ("ArtifactETag", "Attachment", "NoSniffing", "SecurityPolicy"),
    ("get_artifact", "304"): ("ArtifactETag",),
    ("put_a_team", "201"): ("TeamLocation",),
    ("create_a_schedule", "201"): ("ScheduleLocation", "ScheduleETag"),
    ("create_a_schedule", "200"): ("ScheduleLocation", "ScheduleETag", "IdempotentReplayed"),
    **{(f"{does}_a_schedule", "200"): ("ScheduleETag",) for does in ("get", "change", "pause", "resume")},
    ("run_a_schedule", "202"): ("Location", "RetryAfter", "Vary", "PreferenceApplied", "IdempotentReplayed"),
    ("run_a_schedule", "200"): ("Location", "Vary", "PreferenceApplied", "IdempotentReplayed"),
    ("home", "200"): ("Vary", "SecurityPolicy"),
}
"""Which headers an answer may have besides `X-Request-Id` and `Cache-Control`, by operation and status."""
