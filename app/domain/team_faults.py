"""What is wrong with a team whose parts are each sound: places in it, and reasons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from app.domain.plan import TASKS_CEILING, Plan, Task, validated
from app.domain.plan_template import ID_CHARACTERS, PlanTemplate
from app.domain.strategies import Strategy
from app.domain.team_rules import CheckName, ConflictMethod, Route
from app.domain.worker import Worker

Path = tuple[str | int, ...]
"""Where in a team, step by step."""
Fault = tuple[Path, str]
"""A place, and what is wrong there."""


def refuse(faults: Iterable[Fault]) -> None:
    """Raises `ValidationError` with every fault at its place, if there is one."""
    if told := [_told(path, reason) for path, reason in faults]:
        raise ValidationError.from_exception_data("Team", told)


def _told(path: Path, reason: str) -> InitErrorDetails:
    # The reason comes as a value: braces in it are text.
    fault = PydanticCustomError("team_fault", "{reason}", {"reason": reason})
    return InitErrorDetails(type=fault, loc=path, input=None)


def of_workers(workers: Sequence[Worker]) -> Iterator[Fault]:
    """Names of workers that stand for two, or for none, and tools that they must use and do not have."""
    names = [worker.name for worker in workers]
    for number, worker in enumerate(workers):
        place: Path = ("workers", number)
        if worker.name in names[:number]:
            yield (*place, "name"), f"another worker has this name: {worker.name}"
        if worker.fallback is not None and (worker.fallback not in names or worker.fallback == worker.name):
            yield (*place, "fallback"), f"this is no other worker of the team: {worker.fallback}"
        if foreign := sorted({tool for tools in worker.needed_tools for tool in tools} - set(worker.tools)):
            yield (*place, "must_use"), f"{worker.name} must use tools that it does not have: {', '.join(foreign)}"
        if worker.checks and (missing := _unasked(worker)):
            listed = " and ".join(missing)
            yield (*place, "checks"), f"output_schema must ask for what is checked: {listed}"
        if not all(worker.needed_tools):
            yield (*place, "must_use"), f"{worker.name} must use one of no tools at all"


_CHECKED: Mapping[CheckName, tuple[str, ...]] = {"python_tests": ("imports", "tests"), "trades": ("trades",)}
"""What must be in the data of a result that is checked."""


def _unasked(worker: Worker) -> list[str]:
    asked = (worker.output_schema or {}).get("properties", {})
    wanted = dict.fromkeys(name for check in worker.checks for name in _CHECKED[check])
    return [name for name in wanted if name not in asked]


def of_rules(workers: Sequence[Worker], routing: Sequence[Route], methods: Sequence[ConflictMethod]) -> Iterator[Fault]:
    """Routes to nobody, and methods for conflicts that are named twice."""
    if len(set(methods)) < len(methods):
        yield ("conflict_resolution",), "a method is named twice"
    names = [worker.name for worker in workers]
    for number, route in enumerate(routing):
        for path, worker in route.workers_at:
            if worker not in names:
                yield ("routing", number, *path), f"the team has no worker {worker}; it has: {', '.join(names)}"


def of_exclusive_tools(workers: Sequence[Worker], dynamic_tools: Sequence[str]) -> Iterator[Fault]:
    """Tools that several roles have where each is to belong to one."""
    owners: dict[str, tuple[str | None, str]] = {}
    for number, worker in enumerate(workers):
        role = (worker.kind, worker.kind or worker.name)
        for index, tool in enumerate(worker.tools):
            owner = owners.setdefault(tool, role)
            if owner != role:
                whose = f"{'workers of the kind ' if owner[0] else ''}{owner[1]}"
                reason = f"tool_isolation is exclusive, and {tool} belongs to {whose} already; shared would allow it"
                yield ("workers", number, "tools", index), reason
    if shared := sorted({*dynamic_tools} & owners.keys()):
        reason = f"dynamic workers would share tools, and tool_isolation is exclusive: {', '.join(shared)}"
        yield ("dynamic_workers", "tools"), reason


def of_kinds(workers: Sequence[Worker]) -> Iterator[Fault]:
    """Kinds of which there is one worker, or whose workers deliver in different forms."""
    for number, worker in enumerate(workers):
        if worker.kind is None:
            continue
        peers = [other for other in workers if other.kind == worker.kind and other is not worker]
        if not peers:
            yield ("workers", number, "kind"), f"the kind {worker.kind} has one worker only: {worker.name}"
        elif any(other.output_schema != worker.output_schema for other in peers):
            reason = f"the workers of the kind {worker.kind} have different output_schema"
            yield ("workers", number, "output_schema"), reason
        elif any(other.finds != worker.finds for other in peers):
            yield ("workers", number, "output"), f"the workers of the kind {worker.kind} have different output"


def of_findings(workers: Sequence[Worker], *, has_rules: bool, has_schema: bool) -> Iterator[Fault]:
    """Rules for findings that nobody reports, and a form for data that are findings."""
    finds = any(worker.finds for worker in workers)
    if has_rules and not finds:
        yield ("findings",), "this goes with a worker whose output is findings, and there is none"
    if has_schema and finds:
        yield ("output_schema",), "the data of a team whose workers report findings are these: it has no output_schema"


def of_template(template: PlanTemplate, workers: Sequence[Worker], strategy: Strategy | None) -> Iterator[Fault]:
    """What keeps a team with these workers from following a template; `strategy` is the one that it has fixed."""
    if strategy is not None and template.strategy not in (None, strategy):
        yield ("plan_template", "strategy"), f"the team has the strategy {strategy}"
    tasks = tuple(
        Task(id=each.id, instruction="-", worker=each.worker, depends_on=each.depends_on) for each in template.tasks
    )
    for flaw in validated(Plan(tasks=tasks), {worker.name for worker in workers}, TASKS_CEILING).validation.errors:
        path = (int(part) if part.isdigit() else part for part in flaw.pointer.split("/")[1:])
        yield ("plan_template", *path), flaw.detail
    several = {each.id for each in template.tasks if each.for_each}
    for index, each in enumerate(template.tasks):
        place: Path = ("plan_template", "tasks", index, "id")
        if each.for_each and len(each.id) > ID_CHARACTERS:
            yield place, f"the id of a task for each has at most {ID_CHARACTERS} characters"
        of, _, number = each.id.rpartition("-")
        if of in several and number.isdigit():
            yield place, f"one of the tasks for each {of!r} would have this id"
