"""How large the supervisor's requests become: for very many results by merge and by reduce, and beside the transcripts
of the workers that brought them.

Nothing is run: states of runs are told fact by fact, and the requests are those that an engine would send in them.
Tokens are estimates, four characters each; the ratios within one table are what counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.agents.ask import Call
from app.agents.roles import ROLES
from app.domain import events as ev
from app.domain.policy.agenda import ANSWERING
from app.domain.reduction_tree import RESULT_CHARACTERS, ROOM_CHARACTERS, groups_due
from app.domain.topics import Topic
from app.llm.estimates import estimated_usage
from app.llm.model import Request
from app.llm.pricing import Prices
from tests.support.many import of_size, reduce, topic_of_group, with_strategy
from tests.support.story import Story, call_block, started, task, text_block

RESULTS = 120
BESIDE = 50
"""What titles and summaries take of that, at most."""
WORKERS = 12
TOOL_CALLS = 4
PAGE = "A page says this and that of the matter. " * 300
"""What a tool brings: about as much as a page."""
REPORTED = "What the worker found, in a sentence. " * 50


@dataclass(frozen=True, slots=True)
class Size:
    """How large a request is."""

    characters: int
    tokens: int


def size_of(story: Story, topic: Topic) -> Size:
    """The size of the request that is sent next in a conversation."""
    role, talk = ROLES[topic.purpose], story.talk(topic)
    prompt = talk.prompt or role.open(story.run, topic)
    request = Call(topic, talk, prompt, role.offer(story.run, topic)).request()
    return Size(_characters(request), estimated_usage(Prices(), request, "claude-opus-5-5").input_tokens)


def _characters(request: Request) -> int:
    return len(request.system) + sum(len(str(message.content)) for message in request.messages)


def merged() -> list[Size]:
    """The only request by which very many results are merged: each is shown a part."""
    return [size_of(_delivered("merge"), ANSWERING)]


def reduced() -> list[Size]:
    """All the requests by which they are reduced, and the answer made; each result is shown whole."""
    story, sizes = _delivered("reduce"), list[Size]()
    while groups := groups_due(story.run):
        for group in groups:
            sizes.append(size_of(story, topic_of_group(group)))
            reduce(story, group, "So it is. " * (RESULT_CHARACTERS // 20))
    return [*sizes, size_of(story, ANSWERING)]


def _delivered(strategy: str) -> Story:
    return with_strategy(of_size(RESULTS, RESULT_CHARACTERS - BESIDE), strategy)


def answer_and_transcripts() -> tuple[Size, Sequence[Size]]:
    """The request for an answer from a plain run of workers with tools, and what each of them had read at its end."""
    names = [f"t{number}" for number in range(1, WORKERS + 1)]
    story = started(*(task(name) for name in names))
    for name in names:
        story.start(name)
        for number in range(TOOL_CALLS):
            story.hear("work", [call_block(f"{name}_{number}", "look")], "tool_use", name)
            story.use_tool(name, f"{name}_{number}", PAGE)
    transcripts = [size_of(story, Topic("work", name)) for name in names]
    for name in names:
        story.hear("work", [text_block(REPORTED)], name=name)
        delivered = ev.TaskSucceeded(summary="It is so.", text=REPORTED)
        story.record(story.topic("work", name).entry(delivered))
    return size_of(story, ANSWERING), transcripts


def measure() -> None:
    """Both tables, in Markdown."""
    one, many = merged(), reduced()
    print(f"\n{RESULTS} results of {RESULT_CHARACTERS:,} characters:\n")
    print("| | requests | largest, characters | largest, tokens | all, tokens | shown of each result |")
    print("|---|---|---|---|---|---|")
    for name, sizes, shown in (("merge", one, ROOM_CHARACTERS / (RESULTS * RESULT_CHARACTERS)), ("reduce", many, 1.0)):
        largest = max(sizes, key=lambda size: size.tokens)
        total = sum(size.tokens for size in sizes)
        print(f"| `{name}` | {len(sizes)} | {largest.characters:,} | {largest.tokens:,} | {total:,} | {shown:.0%} |")
    answer, transcripts = answer_and_transcripts()
    total = sum(size.tokens for size in transcripts)
    print(f"\nA plain run of {WORKERS} workers with {TOOL_CALLS} tool calls each: the request for the answer has")
    print(f"{answer.tokens:,} tokens, the workers' transcripts have {total:,}: {answer.tokens / total:.1%} of them.")
