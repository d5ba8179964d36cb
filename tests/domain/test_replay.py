from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from app.agents.rereading import reread
from app.domain import events as ev
from app.domain.events import Event
from app.domain.replay import DIFFERENCES_SHOWN, VALUE_CHARACTERS, Findings, Replay, drive
from tests.support.rehearsal import runs
from tests.support.story import Story, call_block, started, task

MANY = settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def replayed(story: Story, log: list[Event] | None = None) -> Replay:
    log = story.log if log is None else log
    drive(story.run.brief, log, reread, findings := Findings())
    return findings.told(log[-1].seq)


@MANY
@given(runs())
def test_every_run_is_the_same_when_it_is_replayed(story: Story) -> None:
    replay = replayed(story)

    assert replay.differences == ()
    assert (replay.same, replay.last_seq, replay.events) == (True, len(story.log), len(story.log))


@settings(MANY, max_examples=40)
@given(runs())
def test_replies_are_read_again(story: Story) -> None:
    finals = [event for event in story.log if event.type in ("plan.created", "task.succeeded", "synthesis.completed")]
    asked = [event for event in story.log if isinstance(event.data, ev.LlmCompleted) and not event.data.thrown_away]

    assert replayed(story).replies <= len(asked)
    assert replayed(story).replies or not finals or story.run.own_plan is not None


def reported() -> Story:
    """A task has delivered what its worker's report says."""
    story = started(task("a"))
    story.start("a")
    text = '{"summary": "17", "text": "It is 17.", "confidence": 0.9, "sources": [], "escalation": null}'
    reply = ev.LlmCompleted(
        purpose="work",
        model="model-1",
        usage=story.run.usage,
        duration_ms=1,
        stop_reason="end_turn",
        content=[{"type": "text", "text": text}],
    )
    told = Story(story.run.brief, story.log)
    told.tell(reply, "a", 1)
    [outcome] = reread(story.run, told.log[-1])
    story.record(outcome._replace(fact=reply), outcome)
    return story


def test_an_output_that_today_is_read_otherwise_is_named_with_its_event_and_field() -> None:
    story = reported()
    *before, end = story.log
    assert isinstance(end.data, ev.TaskSucceeded)
    stored = replace(end, data=end.data.model_copy(update={"text": "It is 16."}))

    [difference] = replayed(story, [*before, stored]).differences

    assert replayed(story).differences == ()
    assert difference.model_dump() == {
        "seq": end.seq,
        "row": None,
        "field": "text",
        "stored": "It is 16.",
        "replayed": "It is 17.",
    }


def test_a_reply_that_today_is_rejected_is_named_with_what_it_led_to() -> None:
    story = reported()
    end = story.log[-1]
    stored = replace(end, data=ev.TaskRejected(errors=(), note=None))

    [difference] = replayed(story, [*story.log[:-1], stored]).differences

    assert (difference.seq, difference.field) == (end.seq, "type")
    assert (difference.stored, difference.replayed) == ("task.rejected", "task.succeeded")


def test_a_reply_that_today_is_not_read_at_all_is_named_with_what_it_led_to() -> None:
    story = reported()
    *before, reply, end = story.log
    assert isinstance(reply.data, ev.LlmCompleted)
    calls = reply.data.model_copy(update={"stop_reason": "tool_use", "content": [call_block("c1")]})

    [difference] = replayed(story, [*before, replace(reply, data=calls), end]).differences

    assert (difference.seq, difference.stored, difference.replayed) == (end.seq, "task.succeeded", None)


def test_an_event_that_could_not_happen_is_named_and_nothing_behind_it_is_looked_at() -> None:
    story = reported()
    twice = [*story.log, replace(story.log[-1], seq=len(story.log) + 1)]

    [difference] = replayed(story, [*twice, replace(twice[-1], seq=len(twice) + 1)]).differences

    assert (difference.seq, difference.field, difference.stored) == (len(twice), "type", "task.succeeded")
    assert "cannot follow here" in difference.replayed


def test_what_is_shown_is_bounded() -> None:
    findings = Findings()
    for number in range(DIFFERENCES_SHOWN + 7):
        findings.add("text", "x" * 10_000, {"text": "y" * 10_000}, seq=number)

    replay = findings.told(1)

    assert not replay.same
    assert (len(replay.differences), replay.omitted) == (DIFFERENCES_SHOWN, 7)
    assert len(replay.model_dump_json()) < DIFFERENCES_SHOWN * (2 * VALUE_CHARACTERS + 200)
