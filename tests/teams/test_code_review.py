"""The team `code-review` on scripted replies: who is shown what, what is left of what they find, and what comes out."""

import json
from typing import Any

import httpx2

from tests.engine.test_findings import opening_of
from tests.support.sarif import SARIF
from tests.support.service import report, synthesis
from tests.support.stub_answers import Answer, as_json, refusal
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.teams.test_examples import EXAMPLES, parts_of

PARTS = parts_of(EXAMPLES / "code-review")
REFUNDS, ORDERS = "tillbook/refunds.py", "tillbook/api/orders.py"
GUARD = "The look at the mark is gone, so that an order can be refunded twice."
QUERY = "What stands in sort goes into the query as it is."
LOCK = "The lock is not held."
ANSWER = f"Not ready. tillbook/refunds.py:11: {GUARD} tillbook/api/orders.py:14: {QUERY}"
LENSES = ["bugs", "guidelines", "history", "earlier", "comments", "security", "performance"]


def finding(path: str, line: int, evidence: str, message: str, **changes: Any) -> dict[str, Any]:
    place = {"input": "change.diff", "path": path, "line": line, "end_line": changes.pop("end_line", line)}
    fields = {"severity": "critical", "category": "bug", "message": message, "location": place, "evidence": evidence,
              "suggestion": "Take it back.", "confidence": 95}  # fmt: skip
    return fields | changes


FOUND = {
    "bugs": [
        finding(REFUNDS, 15, "        if store.is_refunded(order.id):\n            return", GUARD, end_line=16),
        finding(REFUNDS, 15, "reference = gateway.refund(order.payment, amount)", LOCK, confidence=70),
    ],
    "history": [
        finding(REFUNDS, 15, "if store.is_refunded(order.id):", f"{GUARD} Commit dcf6505.", confidence=90)
    ],
    "security": [
        finding(ORDERS, 14, "ORDER BY {order_by} DESC", QUERY),
        finding(ORDERS, 40, "no such line", "A token is logged."),
    ],
}  # fmt: skip


def reviewing(stub: StubProvider) -> None:
    stub.on("work", as_json(report("looked at all of it", data={"findings": []})))
    stub.on("work:triage", as_json(report("refunds may be a share of an order")))
    for worker, found in FOUND.items():
        stub.on(f"work:{worker}", as_json(report("looked at all of it", data={"findings": found})))
    stub.on("verify", verdict)


def verdict(seen: SeenRequest) -> Answer:
    held = LOCK not in opening_of(seen)
    said = {"verdict": "confirmed" if held else "refuted", "confidence": 97 if held else 5}
    return as_json(said | {"reason": "So it is.", "severity": None, "message": None, "suggestion": None})


async def files_of(client: httpx2.AsyncClient, run: Any) -> dict[str, str]:
    return {each["name"]: (await client.get(each["url"])).text for each in run["result"]["artifacts"]}


async def test_a_change_is_reviewed_through_each_lens_and_the_review_can_be_posted(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    reviewing(stub)
    stub.on("synthesize", as_json(synthesis(ANSWER, "bugs-1", "security-1")))

    run = (await client.post("/v1/jobs", files=PARTS, headers={"prefer": "wait=30"})).json()

    assert (run["status"], stub.of("plan")) == ("succeeded", [])
    shown = {seen.role.partition(":")[2]: opening_of(seen) for seen in stub.log if seen.role.startswith("work")}
    saw = {
        text: {worker for worker, opening in shown.items() if words in opening}
        for text, words in {
            "guidelines": "Never use `float`",
            "history": "were paid back twice",
            "comments": "One query for each order again",
            "source": "mark_refunded(order.id, reference)\n",
            "description": "Refunds must still happen only once",
            "map": "refunds may be a share of an order",
            "generated": "DESCRIPTOR",
        }.items()
    }
    assert saw.pop("source") >= {"bugs", "security"}
    assert saw == {
        "guidelines": {"guidelines"}, "history": {"history"}, "comments": {"earlier-reviews"}, "description": {"bugs"},
        "map": {"bugs"}, "generated": set(),
    }  # fmt: skip
    data = run["result"]["data"]
    assert [(each["id"], each["location"]["side"], each["tasks"]) for each in data["findings"]] == [
        ("f1", "old", ["bugs-1", "history-1"]),
        ("f4", "new", ["security-1"]),
    ]
    assert [(each["id"], each["reason"]) for each in data["suppressed"]] == [
        ("f2", "refuted"), ("f3", "duplicate"), ("f5", "not_at_location"),
    ]  # fmt: skip
    files = await files_of(client, run)
    log = json.loads(files["review.sarif"])
    SARIF.validate(log)
    results = log["runs"][0]["results"]
    assert [("suppressions" in each, each["properties"]["id"]) for each in results] == [
        (False, "f1"), (False, "f4"), (True, "f2"), (True, "f3"), (True, "f5"),
    ]  # fmt: skip
    assert [
        (each["path"], each.get("start_line"), each["line"], each["side"])
        for each in json.loads(files["comments.json"])["comments"]
    ] == [(REFUNDS, 15, 16, "LEFT"), (ORDERS, None, 14, "RIGHT")]
    assert f"> {ANSWER}" in files["review.md"]
    assert f"### 1. Critical: `{REFUNDS}`, removed lines 15 to 16\n\n{GUARD}" in files["review.md"]


async def test_a_lens_that_fails_is_a_file_that_was_reviewed_in_part(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    reviewing(stub)
    stub.on("work:comments", refusal())
    stub.on("synthesize", as_json(synthesis(ANSWER, "bugs-1", "security-1", without=["comments-1"])))

    run = (await client.post("/v1/jobs", files=PARTS, headers={"prefer": "wait=30"})).json()

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    told = {each["item"]: each for each in run["result"]["coverage"]["material"]}
    reviewed = {name: each for name, each in told.items() if each["status"] == "part"}
    assert [*reviewed] == [
        "tests/test_refunds.py", ORDERS, "tillbook/discounts.py", "tillbook/monthly report.py", REFUNDS,
    ]  # fmt: skip
    assert {(*each["missing"],) for each in reviewed.values()} == {("comments-1",)}
    looked = [each.removesuffix("-1") for each in told[REFUNDS]["tasks"]]
    assert looked == [each for each in LENSES if each != "comments"]
    assert {name: each["reason"] for name, each in told.items() if name not in reviewed} == {
        "tillbook/generated/rates_pb2.py": "without", "uv.lock": "without", "web/logo.png": "binary",
    }  # fmt: skip
    files = await files_of(client, run)
    assert f"| `{REFUNDS}` | in part | by bugs-1" in files["review.md"]
    assert json.loads(files["review.sarif"])["runs"][0]["invocations"][0]["executionSuccessful"] is False
