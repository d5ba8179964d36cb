import logging
from collections.abc import Iterator

import pytest
import structlog

from app.settings import Settings, variable


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.delenv(variable(field), raising=False)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("app")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    logging.captureWarnings(False)
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
