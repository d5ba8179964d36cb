import asyncio
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error

from tests.api.serving import Api, Starts, served

EXAMPLES = hypothesis.settings(
    max_examples=10, deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)


def probe(address: str, description: dict[str, Any], path: str, method: str) -> None:
    """Send requests of all kinds to one operation, and hold the answers to the description."""
    operation = schemathesis.openapi.from_dict(description)[path][method]

    @EXAMPLES
    @hypothesis.given(case=operation.as_strategy())
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=address, timeout=10)

    check()
