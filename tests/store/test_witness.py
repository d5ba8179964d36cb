import inspect
from typing import Any

from app.store.witness import Both, Witness


class Listener(Witness):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("heard_"):
            return lambda *_: self.heard.append(name)
        return super().__getattribute__(name)


def test_of_two_witnesses_one_hears_everything_and_the_other_facts() -> None:
    everything, facts = Listener(), Listener()
    both = Both(everything, facts)
    told = [name for name in dir(Witness) if name.startswith("heard_")]

    for name in told:
        hear = getattr(both, name)
        hear(*[None] * len(inspect.signature(hear).parameters))

    assert everything.heard == told
    assert facts.heard == ["heard_facts"]
