import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from app.domain.flaws import FLAW_CODES
from app.domain.job import Job, Limits
from app.domain.lint import RULES
from app.domain.plan_template import PlanTemplate, TemplateTask
from app.domain.planned_worker import DynamicWorkers
from app.domain.team import Supervisor, Team
from app.domain.team_rules import ApprovalRules, Condition, ReviewRules, Route, Secondary, Stragglers
from app.domain.worker import Worker
from app.runtime import known_teams
from app.settings import Settings, variable
from app.tools.mcp.file import ServerEntry, servers_in
from tests.support.postgres import ROOT

README = (ROOT / "README.md").read_text()
TEAMS = (ROOT / "docs" / "teams.md").read_text()
SETTINGS = README.partition("## Settings")[2].partition("\n## ")[0]
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


@pytest.mark.parametrize("field", Settings.model_fields)
def test_the_readme_lists_every_setting_with_its_default(field: str) -> None:
    (row,) = [line for line in SETTINGS.splitlines() if line.startswith("|") and f"`{variable(field)}`" in line]
    default = Settings.model_fields[field].default

    if type(default) in (str, int, bool, Path):
        assert str(default).lower() in row.split("|")[2].lower()


def test_the_readme_lists_no_setting_that_does_not_exist() -> None:
    named = set(re.findall(r"`(CHARGEHAND_[A-Z_]+)`", SETTINGS))

    assert named - {variable(field) for field in Settings.model_fields} == set()


@pytest.mark.parametrize(
    "document", ["README.md", "CHANGELOG.md", *[str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")]]
)
def test_links_between_documents_lead_somewhere(document: str) -> None:
    file = ROOT / document

    assert [
        link for link in LINK.findall(file.read_text()) if not (file.parent / link.partition("#")[0]).exists()
    ] == []


def test_what_a_job_offers_is_in_the_readme() -> None:
    not_offered = {"rubric", "output_schema", "on_question", "webhook"}

    assert [name for name in Job.model_fields if name not in not_offered and f'"{name}"' not in README] == []


def test_the_team_files_that_the_docs_show_are_some(tmp_path: Path) -> None:
    for number, shown in enumerate(re.findall(r"```yaml\n(.*?)```", TEAMS, re.DOTALL)):
        (tmp_path / f"{number}.yaml").write_text(shown)

    teams = {team.name: team for team in known_teams(Settings(teams_dir=tmp_path))}

    assert [worker.name for worker in teams["invoices"].workers] == ["checker", "writer"]
    assert teams["change-review"].plan_template is not None


def test_the_mcp_file_that_the_docs_show_is_one_and_they_name_every_field(tmp_path: Path) -> None:
    tools = (ROOT / "docs" / "tools.md").read_text()
    (shown,) = re.findall(r"```yaml\n(.*?)```", tools, re.DOTALL)
    (tmp_path / "mcp.yaml").write_text(shown)

    servers = servers_in(tmp_path / "mcp.yaml", {"BOOKS_PW": "x", "STOCK_TOKEN": "y"})

    assert [server.name for server in servers] == ["books", "stock"]
    assert [name for name in ServerEntry.model_fields if f"`{name}`" not in tools] == []


def test_the_docs_of_plans_have_a_line_for_every_flaw_of_the_lint() -> None:
    plans = (ROOT / "docs" / "plans.md").read_text()
    rows = {row.split("|")[1].strip(" `"): row for row in plans.splitlines() if row.startswith("| `")}

    assert {rule.code: "serious" in rows[rule.code] for rule in RULES} == {rule.code: rule.serious for rule in RULES}
    assert {rule.code for rule in RULES} <= FLAW_CODES.keys()


@pytest.mark.parametrize(
    "part",
    [
        Team,
        Supervisor,
        Worker,
        PlanTemplate,
        TemplateTask,
        Route,
        Secondary,
        Condition,
        Stragglers,
        ApprovalRules,
        ReviewRules,
        DynamicWorkers,
        Limits,
    ],
)
def test_the_docs_of_teams_have_a_line_for_every_field_of_a_team_file(part: type[BaseModel]) -> None:
    fields = TEAMS.partition("## Every field")[2].partition("\n## ")[0]

    named = {
        name for row in re.findall(r"^\| (`.+?`) \|", fields, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }

    assert [name for name in part.model_fields if name not in named] == []
