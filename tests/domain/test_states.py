"""The legal moves, taken literally: every state with every event."""

from collections.abc import Mapping
from itertools import product
from typing import get_args

import pytest

from app.domain.errors import IllegalMove
from app.domain.states import (
    ATTEMPT_MOVES,
    RUN_MOVES,
    TASK_MOVES,
    TERMINAL_RUN,
    TERMINAL_TASK,
    AttemptStatus,
    RunStatus,
    TaskStatus,
    diagram,
    moved,
    terminal,
)
from tests.domain.test_events import TYPES

Moves = Mapping[tuple[str, str], str]

TABLES = [
    pytest.param(RUN_MOVES, get_args(RunStatus), id="run"),
    pytest.param(TASK_MOVES, get_args(TaskStatus), id="task"),
    pytest.param(ATTEMPT_MOVES, get_args(AttemptStatus), id="attempt"),
]


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_every_state_and_event_is_a_listed_move_or_illegal(moves: Moves, states: tuple[str, ...]) -> None:
    for state, event in product(states, TYPES):
        if (state, event) in moves:
            assert moved(moves, state, event) == moves[state, event]
        else:
            with pytest.raises(IllegalMove, match=rf"^{event} cannot happen in state {state}$"):
                moved(moves, state, event)


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_tables_name_only_states_and_events_that_exist(moves: Moves, states: tuple[str, ...]) -> None:
    assert {state for state, _ in moves} | set(moves.values()) <= set(states)
    assert {event for _, event in moves} <= set(TYPES)


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_an_end_is_a_state_that_no_move_leaves(moves: Moves, states: tuple[str, ...]) -> None:
    assert all((state, event) not in moves for state, event in product(terminal(moves), TYPES))


def test_the_ends_are_those_of_the_contract() -> None:
    assert {"succeeded", "partial", "failed", "cancelled"} == TERMINAL_RUN
    assert {"succeeded", "failed", "skipped", "cancelled"} == TERMINAL_TASK
    assert terminal(ATTEMPT_MOVES) == {"succeeded", "failed", "cancelled"}


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_from_every_state_that_is_used_an_end_can_be_reached(moves: Moves, states: tuple[str, ...]) -> None:
    ending = set(terminal(moves))
    while more := {state for (state, _), to in moves.items() if to in ending} - ending:
        ending |= more

    assert {state for state, _ in moves} <= ending


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_the_diagram_draws_every_move_and_every_end(moves: Moves, states: tuple[str, ...]) -> None:
    first, *lines = [line.strip() for line in diagram(moves).splitlines()]
    drawn = set()
    for arrow, _, events in (line.partition(": ") for line in lines):
        before, _, to = arrow.partition(" --> ")
        drawn |= {(before, event, to) for event in events.split(", ")}

    expected = {(before, event.partition(".")[2], to) for (before, event), to in moves.items()}
    assert first == "stateDiagram-v2"
    assert drawn == expected | {(state, "", "[*]") for state in terminal(moves)}
