"""What a team file may name is there: every check and every maker of files."""

from typing import get_args

import pytest
from pydantic import ValidationError

from app.domain.checks import CHECKS
from app.domain.makers import MAKERS
from app.domain.team import Team
from app.domain.team_rules import CheckName, FileMaker


def test_every_check_that_a_worker_may_name_is_there() -> None:
    assert tuple(CHECKS) == get_args(CheckName)


def test_every_maker_that_a_team_may_name_is_there() -> None:
    assert tuple(MAKERS) == get_args(FileMaker)


@pytest.mark.parametrize("check", get_args(CheckName))
def test_what_is_checked_is_asked_for(check: CheckName) -> None:
    worker = {"name": "w", "description": "Works.", "instructions": "Work.", "checks": [check]}

    with pytest.raises(ValidationError, match="output_schema must ask for what is checked: "):
        Team.model_validate({"name": "letters", "workers": [worker]})
    with pytest.raises(ValidationError, match="output_schema must ask for what is checked: "):
        Team.model_validate({"name": "letters", "workers": [worker | {"output_schema": {"properties": {"sum": {}}}}]})
