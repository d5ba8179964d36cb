"""The run as the console folds it is the run as the domain folds it, after every event."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings

from app.domain import events as ev
from app.domain.fold import after
from app.domain.job import with_approval
from app.domain.plan_decisions import approve, edit
from app.domain.results import Problem
from app.domain.second_looks import results_kept
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.team import Team, TeamRef
from app.domain.team_rules import Stragglers
from app.domain.worker import Worker
from tests.console.conftest import Desk
from tests.support.rehearsal import runs
from tests.support.script import RULES
from tests.support.story import PAIR, SPENT, WORKER, Story, as_json, brief, started, task

EVERY = 5
"""Of the states between two events, one in so many is compared, and the last."""
_FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
_COMPARE = """async ([log, wanted]) => {
  const { RunFold } = await import("/console/run/fold.js");
  const fold = new RunFold();
  const found = {};
  for (const event of log) {
    fold.apply([event]);
    fold.apply([event]);
    if (wanted.includes(event.seq)) found[event.seq] = shown(fold);
  }
  return found;

  function shown({ tasks, questions, children, revision, status }) {
    return {
      revision,
      status,
      tasks: Object.fromEntries([...tasks.values()].map((task) => [task.id, taskOf(task)])),
      questions: Object.fromEntries([...questions.values()].map((each) => [each.id, [each.status, each.answer]])),
      children: Object.fromEntries([...children.values()].map((each) => [each.run, each.status])),
    };
  }

  function taskOf({ status, worker, error, question, dropped, splitInto, finishedAt, cost, attempts }) {
    const ended = finishedAt !== null;
    const micros = Math.round(cost * 1e6);
    return { status, worker, question, dropped, ended, micros, error: error?.code ?? null, into: splitInto ?? [],
      attempts: attempts.map((each) => ({
        number: each.number, worker: each.worker, status: each.status, instruction: each.instruction,
        refinedFrom: each.refinedFrom, change: each.change, beside: each.beside, child: each.child,
        error: each.error?.code ?? null, escalation: each.escalation?.reason ?? null,
      })) };
  }
}"""


def shown(run: Snapshot) -> dict[str, Any]:
    """What the console shows of a state, as the domain has it."""
    return {
        "revision": run.plan.revision if run.plan else None,
        "status": run.status,
        "tasks": {each.task.id: _task(each) for each in run.every_task},
        "questions": {name: [each.status, each.answer] for name, each in run.questions.items()},
        "children": {child.run: child.status or "running" for _, child in run.children},
    }


def _task(task: TaskState) -> dict[str, Any]:
    return {
        "status": task.status,
        "worker": task.worker,
        "question": task.question,
        "dropped": task.dropped,
        "ended": task.finished_at is not None,
        "micros": round(task.usage.cost_usd * 1_000_000),
        "error": task.error and task.error.code,
        "into": [*task.split_into],
        "attempts": [
            {
                "number": each.number,
                "worker": each.worker,
                "status": each.status,
                "instruction": each.instruction,
                "refinedFrom": each.refined_from,
                "change": each.change,
                "beside": each.beside,
                "child": each.child and each.child.run,
                "error": each.error and each.error.code,
                "escalation": each.escalation and each.escalation.reason,
            }
            for each in task.attempts
        ],
    }


def states_of(story: Story) -> Iterator[tuple[int, dict[str, Any]]]:
    """Some of the states that a story goes through, by the events that led to them."""
    run = Snapshot(story.run.brief)
    for event in story.log:
        run = after(run, event)
        if event.seq % EVERY == 0 or event.seq == len(story.log):
            yield event.seq, shown(run)


def asked(*, answered: bool) -> Story:
    """A task asks a person, who answers in time or not."""
    story = started(task("a"), task("b", "a"))
    story.start("a")
    question = story.ask("a", "proceed", "this one", "the other one")
    if answered:
        story.answer(question)
    else:
        story.wait((question.expires_at - story.now).total_seconds() + 1)
    story.settle()
    story.succeed("a")
    return story


def reassigned() -> Story:
    """A worker gives up and another takes its place; a result is refused, and the next attempt refined."""
    story = Story(replace(brief(attempts=4), team=PAIR))
    story.begin(task("a"), task("b"))
    story.start("a")
    story.escalate("a", "Not for me.", partial="half of it")
    story.rule("a", "reassign", "baker", "Bake it.")
    story.wait(60)
    story.succeed("a", partial=True)
    story.start("b")
    problem = Problem(code="output_invalid", message="It does not fit.")
    again = ev.TaskRetrying(error=problem, next_attempt=2, not_before=story.now, refine=True)
    story.tell(again, "b", 1)
    story.refine("b", "Look under the bed.")
    story.succeed("b")
    return story


def split() -> Story:
    """Smaller tasks take a task's place."""
    story = started(task("a"), task("b", "a"))
    story.start("a")
    story.split("a", task("x"), task("y", "x"))
    story.settle()
    story.succeed("a-1")
    return story


def hedged() -> Story:
    """Another attempt is made beside one that takes long, and delivers first."""
    team = PAIR.model_copy(update={"stragglers": Stragglers(policy="hedge", after_s=30)})
    story = Story(replace(brief(), team=team))
    story.begin(*(task(name) for name in "abcd"))
    story.settle()
    for name in "bcd":
        story.succeed(name)
    story.wait(30)
    assert story.settle() == ["task.started"]
    story.tell(ev.TaskSucceeded(summary="Done.", text="Done."), "a", 2)
    story.settle()
    return story


def nested() -> Story:
    """A team does a task in a run of its own."""
    workers = (WORKER, Worker(name="survey", description="Surveys.", team="crew"))
    story = Story(replace(brief(), team=Team(name="office", workers=workers)))
    story.queued()
    story.started()
    story.tell(ev.PlanCreated(tasks=(task("north").model_copy(update={"worker": "survey"}), task("files"))))
    story.settle()
    begun = ev.ChildStarted(run="run_2", team=TeamRef(name="crew", version=1))
    story.tell(begun, "north", 1)
    story.tell(ev.ChildEnded(run="run_2", status="partial", stop_reason="completed", usage=SPENT), "north", 1)
    story.tell(ev.TaskSucceeded(summary="Dry.", text="It is dry."), "north", 1)
    return story


def begun_with_results() -> Story:
    """A run begins with what another one brought, and its plan is edited before anything else is done."""
    first = started(task("a"), task("b"), task("c", "a", "b"))
    first.succeed("a")
    first.succeed("b")
    assert first.run.plan is not None
    reused = results_kept(first.run, first.run.plan, ["c"])
    told = brief()
    story = Story(replace(told, reused=reused, limits=with_approval(told.limits)))
    story.queued(first.run.plan)
    story.tell(reused)
    story.started()
    story.settle()
    [a, b, c] = first.run.plan.tasks
    other = a.model_copy(update={"instruction": "Another."})
    story.record(*edit(story.run, None, story.now, {"tasks": (other, b, c)}, None))
    story.record(*approve(story.run, None, story.now))
    story.settle()
    return story


def rehearsed() -> list[Story]:
    """Runs in which anything may happen, each time the same ones."""
    found: list[Story] = []

    @_FEW
    @given(runs(rules=RULES), runs())
    def take(waiting: Story, other: Story) -> None:
        found.extend((waiting, other))

    take()
    return found


async def test_the_console_folds_a_run_as_the_domain_does(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    told = [asked(answered=True), asked(answered=False), reassigned(), split(), hedged(), nested()]
    for story in (*told, begun_with_results(), *rehearsed()):
        states = dict(states_of(story))
        found = await page.evaluate(_COMPARE, [[as_json(event) for event in story.log], [*states]])
        for seq, state in states.items():
            assert found[str(seq)] == state, f"after event {seq} of {[event.type for event in story.log[:seq]]}"
