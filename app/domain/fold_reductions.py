"""The part of the fold that concerns results which are put together in groups before an answer is made from them."""

from app.domain import events as ev
from app.domain.reduction_tree import named_in
from app.domain.shortening import shortened_for_answer
from app.domain.snapshot import Snapshot
from app.domain.values import changed


def fold_outcome(run: Snapshot, outcome: ev.ReductionCompleted | ev.ReductionSkipped) -> Snapshot:
    known = {**run.answering.reductions, outcome.number: outcome}
    return changed(run, answering=changed(run.answering, reductions=known))


def fold_ground(run: Snapshot) -> Snapshot:
    """What an answer rests on that is taken now: further ones keep to it as far as nothing has changed.

    Which results were
    shown in short for it is kept too."""
    numbers = tuple(group.number for group in named_in(run)) if run.answering.reductions else ()
    return changed(run, answering=changed(run.answering, rests_on=numbers, shortened=shortened_for_answer(run)))
