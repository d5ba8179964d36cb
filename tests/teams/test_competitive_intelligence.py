"""The team `competitive-intelligence` on scripted replies: what is asked of whom, and what comes of the answers."""

from typing import Any

import httpx2

from tests.support.service import plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

SAID: dict[str, tuple[str, list[tuple[str, float | None, bool | None, int | None]]]] = {
    "larkspur.md": ("Larkspur", [("price", 26, None, 9), ("sso", None, True, 11)]),
    "tidewater.md": ("Tidewater Desk", [("price", 24, None, 9), ("sso", None, True, 12)]),
    "tidewater-sales-call.md": ("Tidewater Desk", [("price", 29, None, 7), ("sso", None, False, 8)]),
    "corvid.md": ("Corvid Support", [("price", 39, None, 9), ("sso", None, True, 11), ("residency", None, None, None)]),
    "halden.md": ("Halden Service", [("price", None, None, 7), ("sso", None, False, 10)]),
}
"""What each source says of which question: a figure, whether it is offered, the line."""
ANSWER = (
    "Tidewater asks 24 by its page and 29 by a former customer, and includes single sign-on (yes) or does not (no). "
    "Corvid asks 39, Larkspur 26."
)


def rows_of(source: str) -> list[dict[str, Any]]:
    company, said = SAID[source]
    return [
        {
            "company": company, "question": question, "text": None if line is None else f"As line {line} says.",
            "number": number, "offered": offered, "source": source, "line": line,
        }
        for question, number, offered, line in said
    ]  # fmt: skip


def source_of(seen: SeenRequest) -> str:
    """The source that a profile is asked from."""
    asked = str(seen.body["messages"][0]["content"][0]["text"])
    return next(source for source in SAID if f'that "{source}" tells of' in asked)


def profile(seen: SeenRequest) -> Answer:
    rows = [row | {"quote": row["text"]} for row in rows_of(source_of(seen))]
    return as_json(report("read", data={"matrix": rows}, sources=[source_of(seen)]))


async def test_each_source_is_asked_the_same_and_what_they_differ_in_is_a_conflict(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    tasks = [f"profile-{number}" for number in range(1, 6)]
    data = {"matrix": [row for source in SAID for row in rows_of(source)]}
    sources = [{"pointer": "/", "tasks": tasks}]
    stub.on("work", profile)
    stub.on("synthesize", as_json(synthesis(ANSWER, *tasks, data=data, data_sources=sources)))

    answer = await client.post(
        "/v1/jobs", files=parts_of(EXAMPLES / "competitive-intelligence"), headers={"prefer": "wait=30"}
    )

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    assert len(stub.of("synthesize")) == 1
    plan = (await client.get(f"/v1/runs/{run['id']}/plan")).json()
    asked = {each["instruction"].replace(source, "…") for each, source in zip(plan["tasks"], SAID, strict=True)}
    assert len(asked) == 1
    assert "- price: What does the cheapest paid plan cost" in asked.pop()
    assert run["result"]["data"] == data
    disputed = {
        each["topic"]: {claim["task"]: claim["claim"] for claim in each["claims"]}
        for each in run["result"]["conflicts"]
    }
    assert disputed == {
        "number of Tidewater Desk, price": {"profile-3": "29", "profile-2": "24"},
        "offered of Tidewater Desk, sso": {"profile-3": "no", "profile-2": "yes"},
    }


async def test_without_sources_the_job_wants_a_planner_and_says_so(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "researcher"))))
    job = {"objective": "How do three help desks compare on price?", "team": "competitive-intelligence"}

    refused = await client.post("/v1/jobs", json=job)
    planned = await client.post(
        "/v1/jobs?dry_run=true", json=job | {"planning": "model"}, headers={"prefer": "wait=20"}
    )

    assert (refused.status_code, refused.json()["code"]) == (422, "template_empty")
    assert [each["worker"] for each in planned.json()["plan"]["tasks"]] == ["researcher"]
    assert len(stub.of("plan")) == 1
