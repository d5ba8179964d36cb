"""The public HTTP API as a typed async client. It knows the service by that API alone, and imports nothing of it."""

from app.client.bodies import File
from app.client.client import Client
from app.client.errors import NothingBehind, Refused, ServiceError, Unreachable, Unsendable
from app.client.job_shapes import DryRun, Job, Limits, Plan, PlannedTask, Quote, Team, Tool
from app.client.run_shapes import Artifact, Attempt, Delta, Event, Question, Run, Task, Trace, is_delta

__all__ = [
    "Artifact",
    "Attempt",
    "Client",
    "Delta",
    "DryRun",
    "Event",
    "File",
    "Job",
    "Limits",
    "NothingBehind",
    "Plan",
    "PlannedTask",
    "Question",
    "Quote",
    "Refused",
    "Run",
    "ServiceError",
    "Task",
    "Team",
    "Tool",
    "Trace",
    "Unreachable",
    "Unsendable",
    "is_delta",
]
