from structlog.testing import capture_logs

from tests.support.api import Api


async def test_a_log_line_shows_the_beginning_of_a_long_path(api: Api) -> None:
    with capture_logs() as lines:
        await api.client.get("/v1/" + "a-" * 15_000)

    (line,) = [line for line in lines if line["event"] == "request"]
    assert line["status"] == 404
    assert line["path"] == "/v1/" + "a-" * 98
