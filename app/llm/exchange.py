"""One call under way: what is sent for it, what comes back, and what it has cost whenever it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress

import aiohttp

from app.domain.conversation import text_of
from app.domain.reasoning import Aloud
from app.domain.text import clean_text
from app.domain.usage import Usage
from app.llm import wire
from app.llm.estimates import estimated_usage
from app.llm.habits import Habits, left_out
from app.llm.model import Reply, Request
from app.llm.partial_reply import PartialReply
from app.llm.pricing import Prices
from app.llm.refusals import ProviderRefused, request_id
from app.llm.tool_names import as_ours
from app.llm.transport import Incoming

LAST_BYTES_S = 0.25
"""How long the end of a response is waited for once the reply is whole, so that its connection can be used again."""


class BrokenOff(Exception):
    """The reply ended before the provider had said why."""


class Exchange:
    """A request, in the form that is tried now, and what has come of it so far."""

    def __init__(self, request: Request, model_id: str, habits: Habits, prices: Prices) -> None:
        self.request = request
        self.model_id = model_id
        self.habits = habits
        self.draft = PartialReply()
        self._prices = prices
        self.refusals = 0
        self.cut_short = False
        """Whether the reply has begun, and has less time than the call: that of whoever asked."""
        self._before = Usage()
        """What refusals have cost that came in the middle of a reply."""
        self.on_begin: Callable[[], None] | None = None
        """Told when a reply begins, beside whoever asked."""
        self._speaking = False
        self._clock: asyncio.Timeout | None = None
        self._sent_at = 0.0

    def sent(self, clock: asyncio.Timeout) -> None:
        """It is sent now, and has until the end of the clock."""
        self._clock, self._sent_at = clock, asyncio.get_running_loop().time()

    @property
    def out_of_time(self) -> bool:
        """Whether the clock has run out."""
        return self._clock is not None and self._clock.expired()

    @property
    def billed(self) -> bool:
        """Whether something of a reply has come, which is paid for whatever follows."""
        return bool(self.draft.counts or self.draft.characters)

    def anew(self, habits: Habits) -> None:
        """Begin again after a refusal, in another form."""
        if self.billed:
            self._before += self._of_this_form(ended=False)
        self.habits, self.draft, self._speaking, self.cut_short = habits, PartialReply(), False, False
        self.refusals += 1

    async def read(self, incoming: Incoming) -> Reply:
        """Read the reply by what it is: a server may answer whole where a stream was asked for, or with an error."""
        async with aclosing(wire.bounded(incoming)) as chunks:
            head = await wire.head_of(chunks)
            if wire.is_whole(head):
                self._begin()
                self._take_whole(await wire.whole_of(head, chunks), incoming.headers)
            else:
                await self._read_stream(head, chunks, incoming.headers)
                if not incoming.is_read:
                    await _drain(chunks)
        return self._reply(incoming.headers)

    def usage(self, *, ended: bool) -> Usage:
        """What the call has cost: the provider's counts where they can be right, our estimate for the rest."""
        return self._in_all(self._before + self._of_this_form(ended=ended))

    def free(self) -> Usage:
        """What it has cost when nothing of the form that was tried last is billed."""
        return self._in_all(self._before)

    def _in_all(self, usage: Usage) -> Usage:
        return usage.model_copy(update={"llm_calls": 1 + self.refusals})

    def _of_this_form(self, *, ended: bool) -> Usage:
        request, draft, model_id = self.request, self.draft, self.model_id
        if not ended and not draft.counts:
            return estimated_usage(self._prices, request, model_id, draft.tokens or None)
        return draft.counts.usage(
            self._prices,
            model_id,
            draft.model or model_id,
            written=draft.tokens,
            allowed=request.max_tokens,
            estimate=lambda: estimated_usage(self._prices, request, model_id, draft.tokens),
            ended=ended,
        )

    def _begin(self) -> None:
        """The reply has begun: from its first word on the time of whoever asked runs."""
        self._speaking = True
        if self.on_begin is not None:
            self.on_begin()
        now, within, clock = asyncio.get_running_loop().time(), self.request.reply_within_s, self._clock
        self.request.progress.silent_s = now - self._sent_at
        ends_at = self._sent_at + self.request.timeout_s
        if clock is not None and within is not None:
            self.cut_short = now + within < ends_at
            clock.reschedule(min(ends_at, now + within))

    def _take_whole(self, written: bytes, headers: Mapping[str, str]) -> None:
        body = wire.json_of(written)
        if "error" in body and "content" not in body:
            raise ProviderRefused.from_body(200, body, headers)
        self.draft.take_message(body)
        if self.request.on_text is not None:
            self.request.on_text(text_of(self.draft.content()))

    async def _read_stream(self, head: bytes, chunks: AsyncIterator[bytes], headers: Mapping[str, str]) -> None:
        listener = self.request.on_text
        aloud = Aloud(listener, expected=self.habits.thinks_aloud) if listener is not None else None
        decoder = wire.EventDecoder()
        self._take(decoder.feed(head), headers, aloud)
        if not self.is_complete:
            async for chunk in chunks:
                self._take(decoder.feed(chunk), headers, aloud)
                if self.is_complete:
                    break
            else:
                self._take(decoder.finish(), headers, aloud)
        if aloud is not None:
            aloud.finish()

    @property
    def is_complete(self) -> bool:
        """Whether all of the reply has come."""
        return self.draft.ended and self.draft.stop_reason is not None

    def _take(self, events: list[wire.ServerEvent], headers: Mapping[str, str], aloud: Aloud | None) -> None:
        for name, data in events:
            if self.is_complete or data.strip() == b"[DONE]":
                continue  # What stands behind the end is none of ours.
            event = wire.json_of(data)
            if name == b"error" or event.get("type", "error") == "error":
                raise ProviderRefused.from_body(200, event, headers)
            if not self._speaking and event["type"] != "ping":
                self._begin()
            written = self.draft.take_event(event)
            if written and aloud is not None:
                aloud.feed(clean_text(written))

    def _reply(self, headers: Mapping[str, str]) -> Reply:
        draft = self.draft
        if draft.stop_reason is None:
            raise BrokenOff
        return Reply(
            content=as_ours(draft.content(), self.request.tools),
            stop_reason=draft.stop_reason,
            usage=self.usage(ended=True),
            model=draft.model or self.model_id,
            request_id=request_id(headers),
            left_out=left_out(self.request, self.habits),
        )


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what is left of a response, unless it takes long."""
    with suppress(wire.TooLarge, aiohttp.ClientError, TimeoutError):
        async with asyncio.timeout(LAST_BYTES_S):
            async for _ in chunks:
                pass
