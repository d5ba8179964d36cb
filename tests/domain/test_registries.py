"""What a team file may name is there: every check and every maker of files."""

from typing import get_args

from app.domain.checks import CHECKS
from app.domain.makers import MAKERS
from app.domain.team_rules import CheckName, FileMaker


def test_every_check_that_a_worker_may_name_is_there() -> None:
    assert tuple(CHECKS) == get_args(CheckName)


def test_every_maker_that_a_team_may_name_is_there() -> None:
    assert tuple(MAKERS) == get_args(FileMaker)
