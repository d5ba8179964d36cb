import pytest

from tests.support.api import Api


async def test_events_are_paged_in_order(api: Api) -> None:
    run_id = await api.ended()
    path = f"/v1/runs/{run_id}/events"
    whole = await api.get(path)
    first = await api.get(f"{path}?limit=4")
    second = await api.get(f"{path}?limit=6&after={first['next_cursor']}")
    done = await api.get(f"{path}?after=10")

    assert [event["seq"] for event in whole["data"]] == list(range(1, 11))
    assert (whole["has_more"], whole["next_cursor"], whole["next_after"]) == (False, None, 10)
    assert first["data"] + second["data"] == whole["data"]
    assert (first["has_more"], second["has_more"]) == (True, False)
    assert (done["data"], done["has_more"], done["next_after"]) == ([], False, 10)
    assert set(whole["data"][0]) == {"seq", "type", "at", "run_id", "task_id", "attempt", "data"}


async def test_events_are_filtered_by_type(api: Api) -> None:
    path = f"/v1/runs/{await api.ended()}/events"
    joined = await api.get(f"{path}?types=run.started,task.succeeded")
    repeated = await api.get(f"{path}?types=run.started&types=task.succeeded")

    assert [event["type"] for event in joined["data"]] == ["run.started", "task.succeeded"]
    assert repeated == joined


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=9223372036854775808", "limit=0", "limit=1001", "types=a%00"]
)
async def test_a_place_in_the_log_that_cannot_be_is_refused(api: Api, query: str) -> None:
    answer = await api.client.get(f"/v1/runs/{await api.post()}/events?{query}")

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (["text/event-stream"], "text/event-stream"),
        (["TEXT/Event-Stream; Q=0.5"], "text/event-stream"),
        (["application/json", "*/*;q=0.1, text/event-stream"], "text/event-stream"),
        (["text/event-stream;q=0"], "application/json"),
        (["text/event-stream; q=0.000, application/json"], "application/json"),
        (["text/event-streams"], "application/json"),
        (["*/*"], "application/json"),
    ],
)
async def test_events_come_as_a_stream_to_those_who_accept_one(api: Api, accept: list[str], kind: str) -> None:
    path = f"/v1/runs/{await api.ended()}/events"
    answer = await api.client.get(path, headers=[("Accept", line) for line in accept])

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
