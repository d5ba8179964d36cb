"""The part of the fold that concerns answers beside the newest: what was turned down, and conflicts with what became of
them."""

from app.domain import events as ev
from app.domain.answering import LEFT_OPEN, Answering, Settled
from app.domain.fold_rounds import without
from app.domain.results import Conflict, RejectedAnswer
from app.domain.selection import Selection
from app.domain.snapshot import Snapshot
from app.domain.values import changed


def fold_rejection(run: Snapshot, rejected: ev.SynthesisRejected) -> Snapshot:
    """Of answers that were turned down, the one with the fewest faults is kept; of several such, the latest."""
    if rejected.answer is None:
        return run
    best, told = run.answering.rejected, RejectedAnswer(answer=rejected.answer, errors=rejected.errors)
    if best is not None and len(best.errors) < len(told.errors):
        return run
    return changed(run, answering=changed(run.answering, rejected=told))


def fold_selection(run: Snapshot, said: ev.SelectionCompleted | ev.SelectionFailed) -> Snapshot:
    """What was chosen holds as long as nothing else delivers; another choice is made in a conversation of its own."""
    unchosen = None
    if isinstance(said, ev.SelectionFailed):
        selection, unchosen = (
            Selection(task=None, reason=said.error.message, candidates=said.candidates),
            said.error.code,
        )
    else:
        selection = Selection.model_construct(**said.__dict__)
    answering = changed(run.answering, selections=(*run.answering.selections, selection), unchosen=unchosen)
    return changed(run, answering=answering, conversations=without(run, "select"))


def fold_conflict(run: Snapshot, found: ev.ConflictFound) -> Snapshot:
    conflict = Conflict.model_construct(**found.__dict__)
    return changed(run, answering=changed(run.answering, found=(*run.answering.found, conflict)))


def fold_answer(run: Snapshot) -> Snapshot:
    """What was turned down before an answer that was taken is forgotten; nobody has looked at that one yet."""
    answering = changed(run.answering, rejected=None, is_overtaken=False, is_reviewed=False)
    return changed(run, answering=answering)


def fold_question(run: Snapshot, asked: ev.QuestionAsked) -> Snapshot:
    told, waiting = (*run.answering.asked, (asked.id, asked.conflict or "")), run.answering.waiting | {asked.id}
    return changed(run, answering=changed(run.answering, asked=told, waiting=waiting))


def fold_settlement(run: Snapshot, end: ev.QuestionAnswered | ev.QuestionExpired) -> Snapshot:
    """What a person has said about a conflict leads to another answer, in a conversation of its own."""
    answering = changed(run.answering, waiting=run.answering.waiting - {end.id})
    conflict = answering.conflict(dict(answering.asked).get(end.id, ""))
    if conflict is None or isinstance(end, ev.QuestionExpired) or end.answer == LEFT_OPEN:
        return changed(run, answering=answering)
    return _overtaken(run, answering, Settled(conflict.topic, _claims_of(conflict), end.answer, conflict))


def fold_judgement(run: Snapshot, judged: ev.ConflictJudged) -> Snapshot:
    """What a judge has decided leads to another answer; what it could not decide stays as it is."""
    tried = run.answering.tried | {("judge", judged.id)}
    answering = changed(run.answering, tried=tried, sittings=max(run.answering.sittings, judged.sitting))
    run = changed(run, answering=answering, conversations=without(run, "arbitrate"))
    conflict = answering.conflict(judged.id)
    if conflict is None or judged.resolution is None:
        return run
    claims, said = _claims_of(conflict), judged.resolution
    return _overtaken(run, answering, Settled(conflict.topic, claims, said, conflict, "judge", judged.confidence))


def fold_left_open(run: Snapshot, left: ev.ConflictLeftOpen) -> Snapshot:
    untied = run.answering.untied | {left.id} if left.method == "tie_break" else run.answering.untied
    answering = changed(run.answering, tried=run.answering.tried | {(left.method, left.id)}, untied=untied)
    return changed(run, answering=answering, conversations=without(run, "arbitrate"))


def _overtaken(run: Snapshot, answering: Answering, settled: Settled) -> Snapshot:
    answering = changed(answering, settled=(*answering.settled, settled), is_overtaken=True)
    return changed(run, answering=answering, conversations=without(run, "synthesize", "review"))


def _claims_of(conflict: Conflict) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{claim.task}: {claim.claim}" for claim in conflict.claims))
