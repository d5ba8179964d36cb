"""All tools of a process where some come from servers: which there are changes while it lives."""

from collections.abc import Iterator, Mapping, Sequence

from app.tools.mcp.offer import Offer
from app.tools.tool import Tool


class Toolbox(Mapping[str, Tool]):
    """Tools by name. One that a server may turn out to have can be asked for before anybody knows, and is not listed:
    so a team that names it can start while its server is down.
    """

    def __init__(self, own: Mapping[str, Tool], offers: Sequence[Offer]) -> None:
        self._own = own
        self._offers = offers

    def __getitem__(self, name: str) -> Tool:
        if name in self._own:
            return self._own[name]
        for offer in self._offers:
            if tool := offer.tools.get(name) or offer.expected(name):
                return tool
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        for offer in self._offers:
            yield from offer.tools

    def __len__(self) -> int:
        return len(self._own) + sum(len(offer.tools) for offer in self._offers)
