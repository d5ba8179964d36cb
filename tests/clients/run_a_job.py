"""What a Python program does with a generated client: run as `python run_a_job.py ADDRESS`, the client importable.

It prints what it found as JSON.
"""

import json
import sys
from importlib import import_module
from typing import Any

client_of = import_module("chargehand_client")
models = import_module("chargehand_client.models")


def call(group: str, operation: str, **arguments: Any) -> Any:
    """The whole answer of an operation."""
    return import_module(f"chargehand_client.api.{group}.{operation}").sync_detailed(client=client, **arguments)


client = client_of.Client(base_url=sys.argv[1], timeout=60)
job = models.Job(
    objective="What is 17.5% of 2480? Show the calculation.",
    metadata=models.JobMetadata.from_dict({"ticket": "T-1"}),
    limits=models.LimitChanges(timeout_s=60),
)
posted = call("jobs", "accept_job", body=job, idempotency_key="k-1", prefer="wait=50")
run = call("runs", "get_run", run_id=posted.parsed.id, prefer="wait=50").parsed
page = call("runs", "list_or_follow_events", run_id=run.id).parsed
trace = call("runs", "get_trace", run_id=run.id).parsed
refused = call("runs", "get_run", run_id="run_0")
invalid = call("jobs", "accept_job", body=models.Job(objective=""))

print(
    json.dumps(
        {
            "location": posted.headers["location"] == f"/v1/runs/{run.id}",
            "ended": run.status.value in ("succeeded", "partial"),
            "typed": type(run).__name__,
            "answer": bool(run.result.answer),
            "events": [type(event).__name__ for event in page.data][:2],
            "last": page.data[-1].data.stop_reason == run.stop_reason,
            "trace": len(trace.events) == run.last_seq and trace.tasks[0].status.value == run.result.outputs[0].status,
            "refused": [type(refused.parsed).__name__, refused.parsed.code.value],
            "invalid": [invalid.status_code.value, invalid.parsed.errors[0].pointer],
        }
    )
)
