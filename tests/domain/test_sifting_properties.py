"""What holds of findings in every run whose workers report some, whatever befalls it."""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import events as ev
from app.domain.events import event_from
from app.domain.fold import after, fold
from app.domain.policy.decide import decide
from app.domain.snapshot import Snapshot
from tests.support.rehearsal import rehearse
from tests.support.script import Script, scripts
from tests.support.story import as_json, before_each

SOME = settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
FINDING = scripts().map(lambda script: replace(script, finds=True, strict=False))


@SOME
@given(FINDING)
def test_every_finding_that_was_reported_is_left_or_suppressed_once(script: Script) -> None:
    story = rehearse(script)
    sifting, result = story.run.answering.sifting, story.run.result
    reported = sum(event.data.reported for event in story.log if isinstance(event.data, ev.FindingsPlaced))

    assert sifting.reported == reported
    named = Counter([*sifting.findings, *(each.id for each in sifting.dropped)])
    assert set(named.values()) <= {1}
    assert set(named) == {f"f{number}" for number in range(1, reported + 1)}
    if result is not None and sifting.order is not None and sifting.is_settled:
        told = [each["id"] for name in ("findings", "suppressed") for each in result.data[name]]
        assert sorted(told) == sorted(named)


@SOME
@given(FINDING)
def test_no_answer_is_begun_before_the_findings_are_settled_and_no_look_is_taken_twice(script: Script) -> None:
    story = rehearse(script)
    for run, event in before_each(story):
        if event.type == "synthesis.completed":
            assert run.answering.sifting.is_settled
    verdicts = Counter(event.data.id for event in story.log if isinstance(event.data, ev.FindingVerified))
    assert set(verdicts.values()) <= {1}
    assert len(verdicts) <= story.run.brief.team.findings.second_looks
    asked = [event for event in story.log if isinstance(event.data, ev.LlmCompleted) and event.data.purpose == "verify"]
    assert {f"f{event.data.number}" for event in asked if isinstance(event.data, ev.LlmCompleted)} <= {
        look.id for event in story.log if isinstance(event.data, ev.FindingsMerged) for look in event.data.looks
    }


@SOME
@given(FINDING, st.data())
def test_a_run_broken_off_anywhere_goes_on_to_a_legal_end(script: Script, data: st.DataObject) -> None:
    log = rehearse(script).log
    kept = log[: data.draw(st.integers(1, len(log)))]

    resumed = rehearse(script, kept)

    assert resumed.run.ended
    assert resumed.log[: len(kept)] == kept
    placed = Counter(name for e in resumed.log if isinstance(e.data, ev.FindingsPlaced) for name in e.data.tasks)
    assert set(placed.values()) <= {1}
    live = read_back = Snapshot(script.brief)
    for event in resumed.log:
        assert decide(live, event.at) == decide(read_back, event.at)
        live, read_back = after(live, event), after(read_back, event_from(as_json(event)))
    assert live == read_back == fold(script.brief, resumed.log) == resumed.run


def test_the_rehearsed_runs_see_every_step() -> None:
    seen: Counter[str] = Counter()

    @settings(SOME, max_examples=40)
    @given(FINDING)
    def look(script: Script) -> None:
        seen.update(event.type for event in rehearse(script).log)

    look()
    assert {kind for kind in ev.FACTS if kind.startswith("finding")} <= seen.keys()
