"""Reducing: a group of results put together in one text, from which the answer is made where there are more of them
than one call holds; repaired at most once.

It is held against the results of its group, as an answer is, so that nothing stands in the tree that they do not bear.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from app.agents.aside import outputs_of
from app.agents.parts_shown import shown_of
from app.agents.prompting import opening, render
from app.agents.reading import Unreadable, misfit, read_as, read_json, without_nulls
from app.agents.role import Offer, Role
from app.agents.shapes import TEXT, closed, listed, one_of
from app.agents.supervisor.checks import has_no_placeholder, quotes_word_for_word, repeats_figures
from app.agents.supervisor.conflict_checks import have_sides
from app.agents.supervisor.ground import Ground, ground_of
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.reduction_tree import Group, tree_of
from app.domain.reductions import REDUCED_CHARACTERS, Contradiction, Reduction
from app.domain.results import Conflict, Statement, Synthesis
from app.domain.snapshot import Snapshot
from app.domain.text import is_blank, shorten
from app.domain.topics import Topic

CHECKS = (has_no_placeholder, repeats_figures, quotes_word_for_word, have_sides)
"""What a reduction is checked for once its form is right. What is missing, and what becomes of a contradiction, is for
the answer to say."""


def _group(run: Snapshot, topic: Topic) -> Group:
    return next(group for group in tree_of(run).pending if group.named.number == topic.number)


def _open(run: Snapshot, topic: Topic) -> Prompt:
    shown = shown_of(_group(run, topic).members)
    return opening(
        "reduce",
        team=run.brief.team,
        objective=run.brief.objective,
        final_instruction=run.plan.final_instruction if run.plan else "",
        results=shown.results,
        reductions=shown.reductions,
        most_characters=REDUCED_CHARACTERS,
    )


def _offer(run: Snapshot, topic: Topic) -> Offer:
    tasks = one_of(_group(run, topic).named.tasks)
    statement = closed(text=TEXT, tasks=listed(tasks))
    contradiction = closed(topic=TEXT, claims=listed(closed(task=tasks, claim=TEXT)))
    schema = closed(
        text=TEXT, statements=listed(statement), contradictions=listed(contradiction), uncertain=listed(TEXT)
    )
    return Offer(run.brief.team.supervisor.model, schema, visible_field="text")


def _material(run: Snapshot, topic: Topic) -> Iterable[object]:
    tasks = _group(run, topic).named.tasks
    return [run.brief.objective, *outputs_of(run.tasks[name] for name in tasks)]


class _ReductionReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    statements: tuple[Statement, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    uncertain: tuple[str, ...] = ()


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    reply = read_as(_ReductionReply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    group, may_be_repaired = _group(run, topic), run.conversation(topic).may_be_repaired
    if flaws := [*_without_ground(reply, group)]:
        raise Unreadable(flaws)
    told = Reduction(
        **group.named.model_dump(), **{name: getattr(reply, name) for name in _ReductionReply.model_fields}
    )
    flaws = [flaw for check in CHECKS for flaw in check(_as_answer(told), _ground(run, group))]
    if told.characters > REDUCED_CHARACTERS and may_be_repaired:
        detail = f"it has {told.characters} characters in all, and may have {REDUCED_CHARACTERS}: say it in fewer words"
        flaws.append(misfit("/text", detail))
    if flaws:
        raise Unreadable(flaws)
    return [topic.entry(ev.ReductionCompleted.of(_cut(told)))]


def _without_ground(reply: _ReductionReply, group: Group) -> Iterator[Flaw]:
    """What is said without saying it, or without a task of the group that bears it."""
    if is_blank(reply.text):
        yield misfit("/text", "text is blank")
    if not reply.statements:
        yield misfit("/statements", "statements must list what the text says, each with the tasks it rests on")
    for index, statement in enumerate(reply.statements):
        if is_blank(statement.text) or not statement.tasks:
            yield misfit(f"/statements/{index}", "every statement needs a text and the tasks it rests on")
    for index, each in enumerate(reply.contradictions):
        if is_blank(each.topic) or not each.claims or any(is_blank(claim.claim) for claim in each.claims):
            detail = "every contradiction needs a topic and the claims that contradict each other"
            yield misfit(f"/contradictions/{index}", detail)
    named = {task for statement in reply.statements for task in statement.tasks}
    named |= {claim.task for each in reply.contradictions for claim in each.claims}
    if unknown := sorted(named - set(group.named.tasks)):
        detail = f"statements and claims may rest only on the tasks of this group; these are not: {', '.join(unknown)}"
        yield Flaw(code="task_unknown", detail=detail)


def _as_answer(told: Reduction) -> Synthesis:
    """The reduction in the form in which answers are checked."""
    conflicts = tuple(
        Conflict(id=f"c{number}", topic=each.topic, claims=each.claims, status="unresolved")
        for number, each in enumerate(told.contradictions, 1)
    )
    answer = "\n\n".join((told.text, *told.uncertain))
    return Synthesis(answer=answer, statements=told.statements, conflicts=conflicts)


def _ground(run: Snapshot, group: Group) -> Ground:
    """What the reduction may rest on: the results of its group alone, and the figures of the reductions in it."""
    whole, tasks = ground_of(run), group.named.tasks
    return replace(
        whole,
        outputs={name: whole.outputs[name] for name in tasks},
        vouched=tuple(member.text for member in group.members if isinstance(member, Reduction)),
        missing=(),
    )


def _cut(told: Reduction) -> Reduction:
    """The reduction with a text that leaves the rest its room; what was asked for in vain is cut, and says so."""
    room = max(REDUCED_CHARACTERS - (told.characters - len(told.text)), REDUCED_CHARACTERS // 2)
    return told.model_copy(update={"text": shorten(told.text, room)[0]})


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("reduce_repair", flaws=flaws, tasks=_group(run, topic).named.tasks)
    return [topic.entry(ev.ReductionRejected(errors=tuple(flaws), note=note, number=topic.number))]


REDUCE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
