"""Text out of JSON that is still being written: the readable field of a reply, as it grows."""

from collections.abc import Callable

import jiter

PARSE_EVERY_CHARACTERS = 80
PARSE_EVERY_SHARE = 20
"""How much must have come since the last look, the second as a part of the whole: parsing anew for every token would
cost the square of the length."""
MOST_LOOKS = 40
"""How often every character is looked at, at about: what may be the end is worth a look of its own until then."""


class FieldStream:
    """Takes the raw text of a reply piece by piece and passes on what is new in one field of its JSON."""

    def __init__(self, field: str, passed_on: Callable[[str], None]) -> None:
        self._field = field
        self._passed_on = passed_on
        self._raw: list[str] = []
        self._unparsed = 0
        self._size = 0
        self._looked_at = 0
        self._shown = 0

    def feed(self, text: str) -> None:
        """The next piece."""
        self._raw.append(text)
        self._unparsed += len(text)
        self._size += len(text)
        due = max(PARSE_EVERY_CHARACTERS, self._size // PARSE_EVERY_SHARE)
        at_an_end = text.endswith("}") and self._looked_at < MOST_LOOKS * self._size
        if self._unparsed < due and not at_an_end:
            return
        self._unparsed = 0
        self._looked_at += self._size
        value = self._value()
        if len(value) > self._shown:
            self._passed_on(value[self._shown :])
            self._shown = len(value)

    def _value(self) -> str:
        raw = "".join(self._raw)
        self._raw = [raw]
        try:
            parsed = jiter.from_json(raw.lstrip().encode(), partial_mode="trailing-strings")
        except ValueError:
            return raw if not raw.lstrip().startswith("{") else ""
        value = parsed.get(self._field) if isinstance(parsed, dict) else None
        return value if isinstance(value, str) else ""
