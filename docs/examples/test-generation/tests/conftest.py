import pytest


@pytest.fixture
def prices() -> list[int]:
    return [490, 1190, 2490]
