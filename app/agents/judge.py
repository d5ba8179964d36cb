"""The judge: chooses one of several results that are tries of the same thing. It sees what was asked and the results as
A, B, C …: not who wrote them, nor which task they are of, nor in which order the plan has them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from app.agents.aside import outputs_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, misfit, read_as, read_json, without_nulls
from app.agents.results_shown import results_of
from app.agents.role import Offer, Role
from app.agents.shapes import TEXT, closed, listed, one_of, or_null
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.selection import Preference
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.text import is_blank, plain_words, shorten
from app.domain.topics import Topic

REASON_CHARACTERS = 4_000
NOTE_CHARACTERS = 1_000
CRITERION_CHARACTERS = 1_000
"""What is shown of a task's criterion."""
MOST_CRITERIA = 20
"""Criteria of tasks that are looked at."""
ALWAYS = (
    "It does what was asked, all of it.",
    "What it says is borne out: by its sources, its data, or reasons that can be followed.",
    "It is clear, and could be used as it stands.",
)
"""What every result must be like, where nobody says more."""
_TELLING = ("task", "worker", "title", "confidence")
"""What a result shows of where it comes from, or says in its own favour."""


def in_order_shown(run: Snapshot) -> list[TaskState]:
    """The candidates in an order that means nothing, and is the same whenever this run asks."""

    def drawn(task: TaskState) -> str:
        return hashlib.sha256(f"{run.brief.run_id} {task.task.id}".encode()).hexdigest()

    return sorted(run.candidates, key=drawn)


def labelled(run: Snapshot) -> Mapping[str, TaskState]:
    """The candidates by the letters under which the judge speaks of them."""
    return {_label(place): task for place, task in enumerate(in_order_shown(run))}


def _label(place: int) -> str:
    more, letter = divmod(place, 26)
    return (_label(more - 1) if more else "") + chr(ord("A") + letter)


def criteria_of(run: Snapshot) -> dict[str, str]:
    """What the results are held against, by the names under which the judge speaks of it."""
    rubric = [run.brief.rubric] if run.brief.rubric is not None else []
    of_tasks = dict.fromkeys(task.task.success_criterion.strip() for task in in_order_shown(run))
    wanted = [shorten(each, CRITERION_CHARACTERS)[0] for each in of_tasks if not is_blank(each)]
    said = _once([*run.brief.team.review.criteria, *rubric, *_once(wanted)[:MOST_CRITERIA]]) or ALWAYS
    return {f"c{number}": each for number, each in enumerate(said, 1)}


def _once(criteria: Sequence[str]) -> list[str]:
    """The criteria without those that say the same as an earlier one, word for word."""
    by_words: dict[str, str] = {}
    for each in criteria:
        by_words.setdefault(plain_words(each) or each, each)
    return [*by_words.values()]


def _open(run: Snapshot, _: Topic) -> Prompt:
    candidates = labelled(run)
    instructions = {task.task.instruction for task in candidates.values()}
    return opening(
        "select",
        criteria=criteria_of(run),
        objective=run.brief.objective,
        final_instruction=run.plan.final_instruction if run.plan else "",
        instruction=instructions.pop() if len(instructions) == 1 else None,
        candidates=[*_shown(candidates)],
    )


def _shown(candidates: Mapping[str, TaskState]) -> Iterator[dict[str, Any]]:
    for label, result in zip(candidates, results_of([*candidates.values()]), strict=True):
        yield {"candidate": label, **{name: each for name, each in result.items() if name not in _TELLING}}


def _offer(run: Snapshot, _: Topic) -> Offer:
    labels = [*labelled(run)]
    look = closed(criterion=one_of([*criteria_of(run)]), best=or_null(one_of(labels)), note=TEXT)
    schema = closed(criteria=listed(look), choice=one_of(labels), reason=TEXT)
    return Offer(run.brief.team.critic_model, schema, visible_field="reason")


def _material(run: Snapshot, _: Topic) -> Iterable[object]:
    return [run.brief.objective, *outputs_of(run.candidates)]


class _Look(BaseModel):
    model_config = ConfigDict(extra="ignore")

    criterion: str
    best: str = ""
    note: str = ""


class _ChoiceReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    criteria: tuple[_Look, ...] = ()
    choice: str
    reason: str = ""


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply = read_as(_ChoiceReply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    candidates, wanted = labelled(run), criteria_of(run)
    flaws = [*_faults(reply, candidates, wanted)]
    if run.conversation(topic).may_be_repaired:
        flaws += _contradictions(reply)
    if flaws:
        raise Unreadable(flaws)
    reply = _in_particular(reply, wanted)
    said = {look.criterion: look for look in reply.criteria}
    chosen = ev.SelectionCompleted(
        task=candidates[_meant(reply.choice)].task.id,
        reason=shorten(reply.reason, REASON_CHARACTERS)[0],
        candidates=tuple(task.task.id for task in candidates.values()),
        criteria=tuple(
            Preference(
                criterion=words,
                best=candidates[_meant(said[name].best)].task.id if said[name].best else None,
                note=shorten(said[name].note, NOTE_CHARACTERS)[0],
            )
            for name, words in wanted.items()
        ),
    )
    return [topic.entry(chosen)]


def _meant(label: str) -> str:
    """The letter in what a model writes for a candidate: some write the word before it."""
    return label.strip().upper().removeprefix("CANDIDATE").strip()


def _faults(reply: _ChoiceReply, labels: Iterable[str], wanted: Iterable[str]) -> Iterator[Flaw]:
    """Why a choice cannot be taken: it is none, gives no reason, or does not look at everything."""
    known, listed_labels = {*labels}, ", ".join(labels)
    if _meant(reply.choice) not in known:
        yield misfit("/choice", f"choice must be one of the candidates: {listed_labels}")
    if is_blank(reply.reason):
        yield misfit("/reason", "reason must say why this one was chosen")
    if sorted(look.criterion for look in reply.criteria) != sorted(wanted):
        yield misfit("/criteria", f"criteria must say of each of these once which is best: {', '.join(wanted)}")
    if any(look.best and _meant(look.best) not in known for look in reply.criteria):
        yield misfit("/criteria", f"best must be one of the candidates, or null: {listed_labels}")


def _contradictions(reply: _ChoiceReply) -> Iterator[Flaw]:
    """Where the choice is not what the criteria say."""
    if (bests := _bests(reply)) and _meant(reply.choice) not in bests:
        detail = f"what is chosen must be best by one criterion at least; you say that of {', '.join(sorted(bests))}"
        yield misfit("/choice", detail)


def _bests(reply: _ChoiceReply) -> set[str]:
    """What is best by any criterion. Where the judge sees no difference that says nothing."""
    return {_meant(look.best) for look in reply.criteria if look.best}


def _in_particular(reply: _ChoiceReply, wanted: Iterable[str]) -> _ChoiceReply:
    """The reply with the choice that its criteria bear out: what is best by most of them, the first of several such.

    What a judge says in particular counts, where its choice contradicts that for a second time.
    """
    if not [*_contradictions(reply)]:
        return reply
    said = {look.criterion: _meant(look.best) for look in reply.criteria if look.best}
    [(best, _)] = Counter(said[name] for name in wanted if name in said).most_common(1)
    reason = f"{best} is best by its criteria, though {reply.choice} was named: {reply.reason}"
    return reply.model_copy(update={"choice": best, "reason": reason})


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        names = {"criteria": criteria_of(run), "labels": [*labelled(run)]}
        note = render("select_repair", flaws=flaws, **names)
    return [topic.entry(ev.SelectionRejected(errors=tuple(flaws), note=note))]


SELECT = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
