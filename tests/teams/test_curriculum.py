"""The team `curriculum` on scripted replies: in sequence, with files, and a critic who holds the chain together."""

from typing import Any

import httpx2

from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

TASKS = ["topics", "objectives", "materials"]
TOPICS: list[dict[str, Any]] = [
    {"id": "t1", "title": "Grouping", "minutes": 60},
    {"id": "t2", "title": "Joins", "minutes": None},
]
OBJECTIVES = [{"id": "o1", "topic": "t1", "objective": "Counts rows by month."}]
MATERIALS = [{"id": "m1", "objective": "o1", "title": "Count by month", "file": "m1-grouping.md"}]
MORE: dict[str, dict[str, Any]] = {
    "topics": {"needs": None, "source": "outline.md", "line": 13},
    "objectives": {"level": "apply", "check": "It gives 12."},
    "materials": {"kind": "exercise", "minutes": 20},
}
FILE = {"name": "m1-grouping.md", "media_type": "text/markdown", "text": "# Count by month\n", "base64": None}
PROBLEM = {"id": "t2", "problem": "no objective"}


def told(name: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    return report(f"{name} are done", data={name: [record | MORE[name] for record in records]})


def answered(unserved: list[dict[str, Any]]) -> dict[str, Any]:
    data = {"topics": TOPICS, "objectives": OBJECTIVES, "materials": MATERIALS, "unserved": unserved}
    said = " ".join(
        [
            "Grouping, in 60 minutes: counts rows by month.",
            *(f"Of {each['id']}: {each['problem']}." for each in unserved),
        ]
    )
    return synthesis(said, *TASKS, data=data, data_sources=[{"pointer": "/", "tasks": TASKS}])


def look(seen: SeenRequest) -> Answer:
    """A critic who accepts an answer that names what is unserved."""
    schema = seen.body["output_config"]["format"]["schema"]
    names = schema["properties"]["criteria"]["items"]["properties"]["criterion"]["enum"]
    met = "Of t2: no objective." in str(seen.body["messages"][0]["content"])
    looks = [{"criterion": name, "met": met or "unserved" not in name, "note": "looked"} for name in names]
    verdict = "accepted" if met else "needs_revision"
    return as_json({"verdict": verdict, "criteria": looks, "notes": "Name the topic without an objective."})


async def test_each_worker_sees_the_one_before_and_a_broken_chain_does_not_go_out(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("work:topics", as_json(told("topics", TOPICS)))
    stub.on("work:objectives", as_json(told("objectives", OBJECTIVES)))
    stub.on("work:materials", as_json(told("materials", MATERIALS) | {"artifacts": [FILE]}))
    stub.on("synthesize", call=1, reply=as_json(answered([])))
    stub.on("synthesize", call=2, reply=as_json(answered([PROBLEM])))
    stub.on("review", look)

    answer = await client.post("/v1/jobs", files=parts_of(EXAMPLES / "curriculum"), headers={"prefer": "wait=30"})

    run = answer.json()
    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    assert [seen.role for seen in stub.log] == [
        "work:topics", "work:objectives", "work:materials", "synthesize", "review", "synthesize", "review",
    ]  # fmt: skip
    assert '"line": 13' in str(stub.of("work:objectives")[0].body)
    assert "Counts rows by month." in str(stub.of("work:materials")[0].body)
    assert not any("read_input" in str(stub.of(f"work:{name}")[0].body.get("tools")) for name in TASKS[1:])
    data = run["result"]["data"]
    assert data["unserved"] == [PROBLEM]
    assert {each["objective"] for each in data["materials"]} <= {each["id"] for each in data["objectives"]}
    assert {each["topic"] for each in data["objectives"]} <= {each["id"] for each in data["topics"]}
    [file] = run["result"]["artifacts"]
    assert (file["name"], file["task"]) == ("m1-grouping.md", "materials")
    assert (await client.get(file["url"])).text == FILE["text"]
