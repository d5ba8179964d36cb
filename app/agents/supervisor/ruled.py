"""What a ruling says beside its decision: the parts of a task that is split, the question to a person."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from app.agents.reading import Unreadable, misfit
from app.domain.flaws import Flaw
from app.domain.plan import Plan, Task
from app.domain.policy.splitting import FEWEST, part_names, parts_allowed, split
from app.domain.questions import (
    CHOICE_CHARACTERS,
    CHOICES_ALLOWED,
    QUESTION_CHARACTERS,
    Default,
    DefaultAction,
    Inquiry,
)
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.text import is_blank, plain_words, shorten


class Asking(BaseModel):
    """The part of a ruling that has a person asked."""

    question: str | None = None
    choices: tuple[str, ...] = ()
    default_action: DefaultAction = "proceed"
    assumption: str | None = None


def impossible(field: str, why: str) -> Unreadable:
    """The error of a ruling that cannot be followed."""
    return Unreadable([misfit(f"/{field}", why)])


def read_split(run: Snapshot, task: TaskState, parts: Sequence[Task]) -> Plan:
    """The plan with those parts. Raises `Unreadable` for parts that cannot be carried out."""
    allowed = parts_allowed(run, task)
    if not FEWEST <= len(parts) <= allowed:
        raise impossible("parts", f"to split, parts must be {FEWEST} to {allowed} smaller tasks")
    ids = {part.id for part in parts}
    if len(ids) < len(parts):
        raise impossible("parts", "the smaller tasks must have different ids")
    if strangers := {need for part in parts for need in part.depends_on} - ids - set(task.task.depends_on):
        raise impossible(
            "parts", f"a part may only depend on other parts; these are none: {', '.join(sorted(strangers))}"
        )
    said = {plain_words(part.instruction) for part in parts}
    if len(said) < len(parts) or said & {plain_words(attempt.instruction) for attempt in task.attempts}:
        raise impossible("parts", "each part must be told something else than the others, and than the task was")
    plan = split(run, task, parts)
    if not plan.validation.ok:
        raise Unreadable([_of_part(flaw, part_names(run, task, parts)) for flaw in plan.validation.errors])
    return plan


def _of_part(flaw: Flaw, names: Mapping[str, str]) -> Flaw:
    """What is wrong with the plan, in the words of the parts: by the ids that they came with."""
    detail = flaw.detail
    for part, name in names.items():
        detail = detail.replace(f"'{name}'", f"'{part}'")
    return Flaw(code=flaw.code, pointer="/parts", detail=detail)


def read_inquiry(reply: Asking) -> Inquiry:
    """What the reply has a person asked. Raises `Unreadable` for a question that nobody could answer."""
    if reply.question is None or is_blank(reply.question):
        raise impossible("question", "to ask a person, question must say what is asked")
    proceeds = reply.default_action == "proceed"
    if proceeds and (reply.assumption is None or is_blank(reply.assumption)):
        raise impossible("assumption", "to proceed without an answer, assumption must say what is taken for granted")
    choices = tuple(dict.fromkeys(choice.strip() for choice in reply.choices if not is_blank(choice)))
    if (
        len(choices) == 1
        or len(choices) > CHOICES_ALLOWED
        or any(len(choice) > CHOICE_CHARACTERS for choice in choices)
    ):
        why = f"choices must be two or more, {CHOICES_ALLOWED} at most, of {CHOICE_CHARACTERS} characters each"
        raise impossible("choices", why)
    assumption = shorten(reply.assumption or "", QUESTION_CHARACTERS)[0] if proceeds else None
    question = shorten(reply.question.strip(), QUESTION_CHARACTERS)[0]
    return Inquiry(
        question=question, choices=choices, default=Default(action=reply.default_action, assumption=assumption)
    )
