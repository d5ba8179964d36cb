"""The legal moves, taken literally: every state with every event."""

from collections.abc import Mapping
from contextlib import nullcontext
from itertools import product
from typing import get_args

import pytest

from app.domain.errors import IllegalMove
from app.domain.states import (
    ALLOWED_WHILE,
    ATTEMPT_MOVES,
    RUN_MOVES,
    TASK_MOVES,
    TERMINAL_RUN,
    TERMINAL_TASK,
    AttemptStatus,
    RunStatus,
    TaskStatus,
    check_allowed,
    diagram,
    move,
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
            assert move(moves, state, event) == moves[state, event]
        else:
            with pytest.raises(IllegalMove, match=rf"^{event} cannot happen in state {state}$"):
                move(moves, state, event)


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_tables_name_only_states_and_events_that_exist(moves: Moves, states: tuple[str, ...]) -> None:
    assert {state for state, _ in moves} | set(moves.values()) <= set(states)
    assert {event for _, event in moves} <= set(TYPES)


@pytest.mark.parametrize(("moves", "states"), TABLES)
def test_an_end_is_a_state_that_no_move_leaves(moves: Moves, states: tuple[str, ...]) -> None:
    assert all((state, event) not in moves for state, event in product(terminal(moves), TYPES))


def test_every_fact_may_happen_in_some_run_and_none_but_the_first_in_one_that_has_not_begun() -> None:
    moves = {event for _, event in RUN_MOVES}

    assert moves | frozenset().union(*ALLOWED_WHILE.values()) == set(TYPES) - {"run.queued"}
    assert not moves & frozenset().union(*ALLOWED_WHILE.values())


@pytest.mark.parametrize("status", get_args(RunStatus))
def test_a_run_allows_what_moves_it_and_what_is_listed_and_nothing_else(status: RunStatus) -> None:
    for event in TYPES:
        listed = event in ALLOWED_WHILE.get(status, frozenset()) or (status, event) in RUN_MOVES
        with nullcontext() if listed else pytest.raises(IllegalMove, match=f"^{event} .* a run that is {status}$"):
            check_allowed(status, event)


def test_a_run_that_has_ended_allows_nothing() -> None:
    assert not set(ALLOWED_WHILE) & TERMINAL_RUN


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
