from typing import Any

import pytest
from structlog.testing import capture_logs

from app.runtime import open_runtime
from app.settings import Settings

CLAUDE: dict[str, Any] = {"model": "claude", "anthropic_base_url": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("values", "unpriced"),
    [
        (CLAUDE | {"model_fast": "llama-4", "model_deep": "qwen-4"}, [{"fast": "llama-4", "deep": "qwen-4"}]),
        (CLAUDE, []),
        ({"model": "demo", "model_fast": "llama-4"}, []),
    ],
    ids=["some without", "all with", "demo"],
)
async def test_tiers_whose_model_has_no_price_are_named_at_the_start(
    database_url: str, values: dict[str, Any], unpriced: list[dict[str, str]]
) -> None:
    with capture_logs() as lines:
        async with open_runtime(Settings(**values), database_url):
            pass

    warnings = [line for line in lines if line["event"] == "limits.cost_usd is refused"]
    assert [line["tiers"] for line in warnings] == unpriced
    assert all(line["log_level"] == "warning" for line in warnings)
