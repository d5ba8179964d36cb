"""Metrics: what runs leave behind in them, who sees them, and what the dashboard asks of them."""

import json
import re
import socket
from collections.abc import Mapping

import httpx2
import pytest

from app.api.metrics import metrics_served
from app.domain.keys import DEFAULT_TENANT
from app.domain.policy.breakers import trip
from app.domain.usage import Usage
from app.store.breakers import change_breaker
from tests.support.api import Starts, client_of
from tests.support.fixtures import Services
from tests.support.postgres import ROOT
from tests.support.rows import every
from tests.support.service import CREW, Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, held, refusal, text, tool_calls
from tests.support.stub_provider import StubProvider

PANELS = json.loads((ROOT / "docs" / "grafana-dashboard.json").read_text())["panels"]
METRICS_TEXT = (ROOT / "docs" / "operations.md").read_text().partition("## Metrics")[2].partition("\n## ")[0]
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
FUNCTIONS = {"sum", "max", "min", "count", "rate", "increase", "histogram_quantile", "by", "and", "on"}
FROM_SCRAPING = {"instance"}
"""Labels that Prometheus adds."""

ALERTS = re.findall(r"\{alert: \w+, expr: '?(.+?)'?, for:", METRICS_TEXT)

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def samples_in(scraped: str) -> Samples:
    found = SAMPLE.findall(scraped)
    return {(name, frozenset(LABEL.findall(labels))): float(value) for name, labels, value in found}


async def scrape(service: Service) -> Samples:
    async with client_of(service.runtime) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return samples_in(answer.text)


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((f"chargehand_{name}", frozenset(labels.items())))


def total(samples: Samples, name: str, **labels: str) -> float:
    return sum(
        each for (what, of), each in samples.items() if what == f"chargehand_{name}" and frozenset(labels.items()) <= of
    )


async def runs_of_each_kind(service: Service, stub: StubProvider) -> None:
    """A run that uses a tool, one whose worker is retried, one that escalates, one that fails, and one that waits."""
    stub.on("work", reply=as_json(report("done")))
    calculating = tool_calls(call("calculate", {"expression": "6*7"}), call("calculate", {"expression": "6*"}))
    stub.on("work:researcher", replies=[calculating], reply=as_json(report("42")))
    run = await service.ended(await service.submit(plan=plan_of(task("t1", "researcher"), task("t2", "writer"))))
    assert run["status"] == "succeeded", run["stop_reason"]

    unusable, escalated = text('{"summary": ""}'), report(escalation={"reason": "out_of_scope", "message": "Not mine."})
    stub.on("work:writer", replies=[unusable, unusable], reply=as_json(report("done")))
    assert (await service.ended(await service.submit(plan=plan_of(task("t1")))))["status"] == "succeeded"
    stub.on("work:writer", replies=[as_json(escalated)], reply=as_json(report("done")))
    stub.on("rule", as_json({"decision": "reassign", "worker": "analyst", "instruction": None, "reason": "so it is"}))
    assert (await service.ended(await service.submit(plan=plan_of(task("t1")))))["status"] == "succeeded"
    stub.on("plan", refusal())
    assert (await service.ended(await service.submit()))["stop_reason"] == "model_refusal"


async def test_what_runs_did_is_counted_and_the_dashboard_asks_for_nothing_else(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start()
    await runs_of_each_kind(service, stub)
    await change_breaker(service.database, DEFAULT_TENANT, "tool:calculate", trip)
    stub.on("work:analyst", held(as_json(report())))
    under_way = await service.submit(plan=plan_of(task("t1", "analyst")))
    await stub.seen(2, role="work:analyst")

    samples = await scrape(service)

    ended = "SELECT usage FROM runs WHERE finished_at IS NOT NULL"
    spent = [Usage.model_validate(row["usage"]) for row in await every(service.database, ended)]
    writer = {"team": CREW.name, "worker": "writer"}
    assert value(samples, "runs_ended_total", team=CREW.name, status="succeeded", stop_reason="completed") == 3
    assert value(samples, "runs_ended_total", team=CREW.name, status="failed", stop_reason="model_refusal") == 1
    assert value(samples, "runs_accepted_total", team=CREW.name) == len(spent) + 1 == 5
    assert value(samples, "runs", status="running") == 1
    assert value(samples, "run_queue_seconds_count") == 5
    assert value(samples, "run_start_seconds_count") == 4
    assert value(samples, "task_attempts_total", **writer) == 4
    assert value(samples, "task_retries_total", **writer) == value(samples, "task_refinements_total", **writer) == 1
    assert value(samples, "task_escalations_total", **writer) == 1
    assert value(samples, "task_reassignments_total", **writer) == 1
    assert value(samples, "tasks_ended_total", **writer, status="succeeded") == 2
    assert value(samples, "tool_calls_total", tool="calculate", outcome="completed") == 1
    assert value(samples, "tool_calls_total", tool="calculate", outcome="failed") == 1
    assert value(samples, "breakers", kind="tool", state="open") == 1
    assert value(samples, "breaker_changes_total", kind="tool", state="open") == 1
    assert total(samples, "model_calls_total") == sum(usage.llm_calls for usage in spent)
    assert total(samples, "model_tokens_total", kind="output") == sum(usage.output_tokens for usage in spent)
    assert abs(total(samples, "model_cost_usd_total") - float(sum(usage.cost_usd for usage in spent))) < 1e-9
    assert (value(samples, "commits_total") or 0) > 5
    for query, legend in (*shown_on_the_dashboard(), *((alert, "") for alert in ALERTS)):
        assert_answered(samples, query, legend)
    stub.release()
    await service.ended(under_way)


def shown_on_the_dashboard() -> list[tuple[str, str]]:
    """Each query, with the legend of what it finds."""
    return [(target["expr"], target["legendFormat"]) for panel in PANELS for target in panel.get("targets", ())]


def test_the_dashboard_and_the_alerts_are_read_at_all() -> None:
    assert len(shown_on_the_dashboard()) > 30
    assert len(ALERTS) == METRICS_TEXT.count("{alert:") > 3
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


async def test_the_docs_name_every_metric_and_no_other(start_api: Starts) -> None:
    text = (await (await start_api()).client.get("/metrics")).text
    shown = set(re.findall(r"^# TYPE chargehand_(\w+) ", text, re.MULTILINE))

    named = [row.split("|")[1] for row in METRICS_TEXT.splitlines() if row.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(named))) - {"off", "CHARGEHAND_AUTH"} == shown


def assert_answered(samples: Samples, query: str, legend: str) -> None:
    """Each metric of a query has samples, with the labels that it is asked for by, grouped by and shown with."""
    names = [each for each in re.findall(r"[a-z_]+", re.sub(r"\{.*?\}|\(.*?\) \(|\[.*?\]", "(", query)) if "_" in each]
    metrics = {name for name in names if name not in FUNCTIONS}
    assert metrics, query
    for metric in metrics:
        labels = [dict(of) for name, of in samples if name == metric]
        assert labels, f"{metric} has no samples: {query}"
        grouped = re.search(r"by \(([\w, ]+)\)", query)
        wanted = set(grouped[1].split(", ") if grouped else ())
        wanted |= set(re.findall(r"\{\{(\w+)\}\}", legend)) | set(re.findall(r"(\w+)!?=~?\"", query))
        assert wanted - FROM_SCRAPING <= set(labels[0]), query


def test_a_query_for_what_is_not_there_is_found() -> None:
    there = samples_in('chargehand_runs{status="running"} 1\n')

    assert_answered(there, "max by (status) (chargehand_runs)", "{{status}} at {{instance}}")
    for query, legend in (
        ("sum(rate(chargehand_rums[5m]))", ""),
        ("sum by (stat) (chargehand_runs)", ""),
        ('chargehand_runs{team="a"}', ""),
        ("chargehand_runs", "{{team}}"),
    ):
        with pytest.raises(AssertionError):
            assert_answered(there, query, legend)


async def test_lost_calls_takeovers_and_lost_leases_are_counted(services: Services, stub: StubProvider) -> None:
    stub.on("work", replies=[held(as_json(report("late")))], reply=as_json(report("done")))
    first = await services.start()
    run_id = await first.submit(plan=plan_of(task("t1")))
    await stub.seen(1, role="work")
    first.database.cut = True
    second = await services.start()

    assert (await second.ended(run_id))["status"] == "succeeded"

    samples, of_first = await scrape(second), samples_in((await text_of(first)).decode())
    assert value(samples, "takeovers_total") == 1
    assert value(samples, "model_calls_total", model="other", purpose="lost") == 1
    assert value(of_first, "leases_lost_total") == 1
    assert value(of_first, "database_up") == 0
    assert value(of_first, "runs", status="running") is None


async def text_of(service: Service) -> bytes:
    return await service.runtime.scrape.text(service.runtime.database, 0)


async def test_where_keys_are_asked_for_metrics_are_not_beside_the_api(start_api: Starts) -> None:
    for settings in ({"auth": "keys"}, {"metrics_port": 0}):
        api = await start_api(**settings)

        answer = await api.client.get("/metrics")

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert "CHARGEHAND_METRICS_PORT" in answer.json()["detail"]


async def test_a_port_of_their_own_has_metrics_and_nothing_else(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with metrics_served(api.runtime, listener), httpx2.AsyncClient(base_url=address) as client:
            shown = samples_in((await client.get("/metrics")).text)

            assert value(shown, "database_up") == 1
            assert value(shown, "readers") == 0
            assert (await client.get("/v1/runs")).status_code == 404
            assert (await client.post("/metrics")).status_code == 405
