"""The team `patient-case` on scripted replies: what the records disagree about, courses by SQL, and a draft."""

from typing import Any

import httpx2
import yaml

from app.domain.job import JobInput
from app.domain.team import Team
from app.llm.demo_evidence import grid_of
from app.llm.demo_material import queries_in
from app.team_files import BUILT_IN_TEAMS
from tests.engine.test_artifacts import file
from tests.engine.test_findings import opening_of
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, call, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.templates import plan_for
from tests.teams.test_examples import EXAMPLES, parts_of

TASKS = ("record-1", "record-2", "record-3", "labs-1", "check")
SAID: dict[str, list[tuple[str, str | None, float | None]]] = {
    "discharge-letter.md": [("allergies", "none known", None), ("metformin dose", None, 500)],
    "gp-note.md": [("allergies", "penicillin", None), ("metformin dose", None, 1000)],
    "medication-list.md": [("metformin dose", None, 1000)],
}
DRAFT = (
    "Draft, to be checked by a clinician. Allergies: penicillin by the GP, none known by the letter. Metformin: "
    "1000 mg by the GP and the pharmacy, 500 mg by the letter. Creatinine rose from 88 to 131 umol/L."
)


def facts_of(source: str) -> list[dict[str, Any]]:
    return [
        {
            "item": item, "value": value, "number": number, "written_unit": "mg" if number else None, "source": source,
            "line": 4, "quote": "As it stands there.", "note": None,
        }
        for item, value, number in SAID[source]
    ]  # fmt: skip


def read(seen: SeenRequest) -> Answer:
    source = next(name for name in SAID if name in opening_of(seen).partition("</task>")[0])
    if len(seen.body["messages"]) == 1:
        return tool_calls(call("read_input", {"action": "read", "name": source}))
    return as_json(report("read", data={"facts": facts_of(source)}, sources=[source]))


def worked_out(seen: SeenRequest) -> Answer:
    """The first query of the plan, as it stands there; and the rows that it brought, as the result."""
    if len(seen.body["messages"]) == 1:
        query, *_ = queries_in(opening_of(seen))
        return tool_calls(call("query_data", {"sql": query}))
    grid = grid_of(str(seen.body["messages"][-1]["content"][0]["content"]))
    rows = [_formed(dict(zip(grid.header, row, strict=True))) for row in grid.rows]
    return as_json(report("Creatinine rose from 88 to 131.", data={"series": rows, "left_out": []}))


def _formed(row: dict[str, str]) -> dict[str, Any]:
    texts = {"test", "unit", "first_date", "last_date", "trend"}
    return {name: value if name in texts else _number(value) for name, value in row.items()}


def _number(value: str) -> float | int | None:
    return None if value in ("", "NULL") else float(value) if "." in value else int(value)


async def test_records_that_disagree_are_conflicts_and_the_draft_is_a_file(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    point = {
        "point": "Amoxicillin beside penicillin: has this been considered?",
        "task": "record-1",
        "quote": "amoxicillin",
        "urgent": True,
    }
    looks = [{"criterion": f"c{number}", "met": True, "note": "so"} for number in range(1, 5)]
    stub.on("work:record-reader", read)
    stub.on("work:lab-analyst", worked_out)
    stub.on("work:cross-checker", as_json(report("One point.", data={"points": [point]})))
    stub.on("synthesize", as_json(synthesis(DRAFT, *TASKS, artifacts=[file("case-draft.md", DRAFT)])))
    stub.on("review", as_json({"verdict": "accepted", "criteria": looks, "notes": "Fine."}))

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "patient-case"), headers={"prefer": "wait=30"})

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", []), run["result"]
    conflicts = {each["topic"]: [claim["claim"] for claim in each["claims"]] for each in run["result"]["conflicts"]}
    assert conflicts == {
        "value of allergies": ["penicillin", "none known"],
        "number of metformin dose": ["1000", "500", "1000"],
    }
    data = {each["task"]: each["data"] for each in run["result"]["outputs"]}
    kidney = [row for row in data["labs-1"]["series"] if row["test"] == "Creatinine"]
    assert [(row["unit"], row["results"], row["outside"], row["trend"]) for row in kidney] == [
        ("mg/dL", 1, 1, "too few"), ("umol/L", 5, 3, "rising"),
    ]  # fmt: skip
    assert [row["ranges"] for row in data["labs-1"]["series"] if row["test"] == "Potassium"] == [2]
    [critic] = stub.of("review")
    assert "It says at its beginning that it is a draft for a clinician to check." in str(critic.body)
    [draft] = run["result"]["artifacts"]
    assert (await client.get(draft["url"])).text == DRAFT


def test_each_of_many_records_is_a_task_of_its_own_and_labs_in_capitals_are_no_record() -> None:
    team = Team.model_validate(yaml.safe_load((BUILT_IN_TEAMS / "patient-case.yaml").read_text()))
    names = [f"letter-{number}.md" for number in range(28)]
    inputs = [JobInput(name=name, content="Allergies: none") for name in (*names, "LABS.CSV")]

    plan = plan_for(team, inputs, tasks=team.limits.tasks)

    titles = [task.title for task in plan.tasks if task.worker == "record-reader"]
    assert titles == [f'Record: "{name}"' for name in names]
    assert [task.worker for task in plan.tasks[28:]] == ["lab-analyst", "cross-checker"]
