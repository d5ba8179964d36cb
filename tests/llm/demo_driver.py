"""What a run does with the demo model, without the run: prompts in, tools called, replies read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agents.files import BOUNDS
from app.agents.prompting import opening
from app.agents.shapes import TEXT, closed
from app.agents.supervisor.checks import objections_to
from app.agents.supervisor.ground import Ground, Missing
from app.agents.supervisor.plan import PLAN, read_plan
from app.agents.supervisor.refine import REFINE
from app.agents.supervisor.synthesis_reply import read_synthesis, synthesis_schema
from app.agents.worker.report import data_schema_of, report_of, report_schema
from app.agents.worker.tools import INPUT_TOOLS
from app.domain.brief import Brief
from app.domain.conversation import Block, Conversation, Message, Prompt, ToolResult, Turn
from app.domain.crew import Crew
from app.domain.events import InputListed, Purpose
from app.domain.job import JobInput, Limits
from app.domain.lint import linted
from app.domain.plan import Plan, Task, validated
from app.domain.policy.agenda import PLANNING
from app.domain.protocol import Read, UseTools, next_step
from app.domain.results import Escalation, Output, Synthesis
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.domain.topics import Topic
from app.domain.worker import Worker
from app.llm.demo import DemoModel
from app.llm.model import Request
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from app.tools.tool import ToolContext, call

TASKS_ALLOWED = 12
SALES = JobInput(
    name="sales.csv", media_type="text/csv", content="region,amount\nnorth,100\nsouth,40.5\nnorth,250\nwest,7\n"
)
APP_LOG = JobInput(name="app.log", content="10:00 export started\n10:01 E1042 disk full\n10:02 export failed\n")

_SANDBOX = Sandbox()
MEANS = {name: tool.means for name, tool in catalogue(_SANDBOX, PageFetcher(_SANDBOX)).items()}
"""What the tools of the service are good for."""


def worker(*tools: str, **changes: Any) -> Worker:
    """A worker with these tools."""
    return Worker(**{"name": "w", "description": "Does things.", "instructions": "Do it.", "tools": tools, **changes})


def request_of(purpose: Purpose, prompt: Prompt, **changes: Any) -> Request:
    """A first request with this opening."""
    opened = [Message("user", [{"type": "text", "text": prompt.message}])]
    fields: dict[str, Any] = {"model": "deep", "system": prompt.system, "messages": opened, "max_tokens": 16_000}
    return Request(purpose=purpose, **{**fields, **changes})


def plan_request(
    team: Team, objective: str, inputs: Sequence[JobInput] = (), tasks_allowed: int = TASKS_ALLOWED
) -> Request:
    given = [InputListed(name=each.name, media_type=each.media_type, characters=len(each.content)) for each in inputs]
    run = Snapshot(Brief("run_1", objective, team, Limits(tasks=tasks_allowed), tuple(given), means=MEANS))
    return request_of("plan", PLAN.open(run, PLANNING), output_schema=PLAN.offer(run, PLANNING).schema)


async def planned(
    team: Team, objective: str, inputs: Sequence[JobInput] = (), tasks_allowed: int = TASKS_ALLOWED
) -> Plan:
    """The demo model's plan, validated and linted."""
    reply = await DemoModel(delay_s=0).reply(plan_request(team, objective, inputs, tasks_allowed))
    crew = Crew(team, MEANS, Limits(tasks=tasks_allowed), tuple(given.name for given in inputs))
    return linted(validated(read_plan(reply.content[0]["text"]), [*crew.workers], tasks_allowed), crew)


def work_prompt(worker: Worker, instruction: str, *, max_steps: int, **given: Any) -> Prompt:
    task = {"context": given.get("context", ""), "success_criterion": ""}
    return opening(
        "work",
        worker=worker,
        max_steps=max_steps,
        task=task,
        instruction=instruction,
        inputs=given.get("inputs", ()),
        results=given.get("results", ()),
        missing=(),
        file_bounds=BOUNDS,
    )


@dataclass
class Worked:
    """A task that was done: its result, and what happened on the way."""

    outcome: Output | Escalation
    calls: list[Block] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)

    @property
    def output(self) -> Output:
        assert isinstance(self.outcome, Output), self.outcome
        return self.outcome

    @property
    def escalation(self) -> Escalation:
        assert isinstance(self.outcome, Escalation), self.outcome
        return self.outcome

    @property
    def tools(self) -> list[str]:
        return [block["name"] for block in self.calls]


async def worked(worker: Worker, instruction: str, *, max_steps: int = 10, **given: Any) -> Worked:
    """Do a task with the real tools; `given` may hold `inputs`, `context` and `results`."""
    prompt = work_prompt(worker, instruction, max_steps=max_steps, **given)
    async with Sandbox() as sandbox, PageFetcher(sandbox) as pages:
        offered = {name: tool for name, tool in catalogue(sandbox, pages).items() if name in worker.tools}
        talk, done = Conversation(prompt), Worked(Output(summary=""))
        while not isinstance(step := next_step(talk, max_steps), Read):
            if isinstance(step, UseTools):
                talk = await _with_results(talk, step.calls, offered, given.get("inputs", ()), done)
                continue
            request = request_of("work", prompt, tools=[tool.spec for tool in offered.values()])
            messages = [*request.messages, *talk.messages()]
            schema = report_schema(data_schema_of(worker), files=worker.artifacts)
            reply = await DemoModel(delay_s=0).reply(
                request_of("work", prompt, tools=request.tools, messages=messages, output_schema=schema)
            )
            talk = Conversation(prompt, (*talk.turns, Turn(reply.content, reply.stop_reason)))
    done.outcome = report_of(step.text, worker)
    return done


async def _with_results(
    talk: Conversation, calls: Sequence[Block], offered: Mapping[str, Any], inputs: Sequence[JobInput], done: Worked
) -> Conversation:
    results: dict[str, ToolResult] = {}
    for block in calls:
        answer = await call(offered, block["name"], block["input"], ToolContext(inputs, block["id"]))
        results[block["id"]] = ToolResult(answer.text, answer.error_code)
    done.calls += calls
    done.results += results.values()
    last = talk.turns[-1]
    return Conversation(talk.prompt, (*talk.turns[:-1], Turn(last.content, last.stop_reason, results)))


def result(task: str, **changes: Any) -> dict[str, Any]:
    """A task's result as another call gets it."""
    fields = {
        "task": task,
        "worker": "researcher",
        "title": f"Title of {task}",
        "summary": f"Demo model: the finding of {task}.",
        "text": f"> Demo model: a notice.\n\nThe finding of {task} at length.",
        "data": None,
        "confidence": 0.6,
        "sources": [f"https://example.org/{task}"],
    }
    return fields | changes


def gap(task: str) -> dict[str, Any]:
    """A task that delivered nothing, as the synthesis gets it."""
    return {
        "task": task,
        "title": f"Title of {task}",
        "status": "failed",
        "reason": "timeout",
        "message": "It took too long.",
    }


def synthesis_request(
    team: Team,
    results: Sequence[dict[str, Any]],
    missing: Sequence[dict[str, Any]] = (),
    objective: str = "Compare A and B",
) -> Request:
    plan = Plan(goal="Demo model: compare", final_instruction="Say so.")
    beside: dict[str, Any] = {"assumptions": (), "conflicts": (), "settled": (), "data_schema": None}
    beside |= {
        "judged": (),
        "ties": {},
        "reductions": (),
        "review": None,
        "closable": (),
        "chosen": None,
        "findings": None,
    }
    beside |= {"workers": team.workers}
    prompt = opening("synthesis", team=team, objective=objective, plan=plan, results=results, missing=missing, **beside)
    schema = synthesis_schema([each["task"] for each in results], closed(task=TEXT, impact=TEXT))
    return request_of("synthesize", prompt, output_schema=schema)


@dataclass
class Ran:
    """A whole job: its plan, what came of each task, and the answer, if anything was delivered."""

    plan: Plan
    tasks: dict[str, Worked]
    answer: Synthesis | None

    @property
    def undelivered(self) -> list[str]:
        return [task.id for task in self.plan.tasks if not isinstance(self._outcome(task.id), Output)]

    def output(self, task: str) -> Output:
        return self.tasks[task].output

    def _outcome(self, task: str) -> object:
        return self.tasks[task].outcome if task in self.tasks else None


async def ran(team: Team, objective: str, inputs: Sequence[JobInput] = ()) -> Ran:
    """Do a whole job: a task whose dependencies deliver nothing is left out, as in a run."""
    job = Ran(await planned(team, objective, inputs), {}, None)
    delivered: dict[str, dict[str, Any]] = {}
    for task in job.plan.tasks:
        worker = team.worker(task.worker)
        assert worker is not None
        if all(name in delivered for name in task.depends_on):
            seen = inputs if INPUT_TOOLS & set(worker.tools) else ()
            results = [delivered[name] for name in task.depends_on]
            done = await worked(worker, task.instruction, context=task.context, inputs=seen, results=results)
            job.tasks[task.id] = done
            if isinstance(done.outcome, Output):
                told = done.outcome.model_dump(mode="json")
                delivered[task.id] = {"task": task.id, "worker": worker.name, "title": task.title, **told}
    if delivered:
        missing = [gap(name) for name in job.undelivered]
        reply = await DemoModel(delay_s=0).reply(synthesis_request(team, list(delivered.values()), missing, objective))
        job.answer = read_synthesis(reply.content[0]["text"], list(delivered), job.undelivered)
        assert objections_to(job.answer, _ground(job, objective, inputs)) == []
    return job


def _ground(job: Ran, objective: str, inputs: Sequence[JobInput]) -> Ground:
    outputs = {name: done.outcome for name, done in job.tasks.items() if isinstance(done.outcome, Output)}
    titles = {task.id: task.title for task in job.plan.tasks}
    given = [objective, *titles.values(), gap("x")["message"], *(item.name for item in inputs)]
    return Ground(outputs, given, [Missing(name, titles[name]) for name in job.undelivered])


def refine_request(team: Team, attempts: Sequence[dict[str, Any]]) -> Request:
    task = Task(id="t1", instruction="Do it.")
    prompt = opening(
        "refine", team=team, worker=team.workers[0], task=task, dependencies=(), inputs=(), attempts=attempts
    )
    run = Snapshot(Brief("run_1", "", team, Limits()))
    return request_of("refine", prompt, output_schema=REFINE.offer(run, Topic("refine", "t1", 2)).schema)
