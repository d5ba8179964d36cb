"""The demo model where there are more results than one answer can be made from."""

import json

from app.agents.converse import consequences
from app.agents.roles import ROLES
from app.domain import events as ev
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import ANSWERING
from app.domain.reduction_tree import groups_due
from app.domain.topics import Topic
from app.llm.demo import DemoModel
from tests.llm.demo_driver import request_of
from tests.support.many import many, topic_of_group
from tests.support.story import Story, called, text_block


async def follows(story: Story, topic: Topic) -> ev.AnyFact:
    """What the demo model's reply comes to, which is recorded."""
    role = ROLES[topic.purpose]
    schema = role.offer(story.run, topic).schema
    request = request_of(topic.purpose, role.open(story.run, topic), output_schema=schema)
    reply = await DemoModel(delay_s=0).reply(request)
    number = topic.number if topic.purpose == "reduce" else None
    content = [text_block(json.dumps(json.loads(reply.content[0]["text"])))]
    told = called(topic.purpose, number=number).completed(stop_reason="end_turn", content=content)
    entries = consequences(story.run, topic, conversation_after(story.talk(topic), told), {})
    story.record(topic.entry(told), *entries)
    return entries[0].fact


async def test_it_puts_groups_together_and_makes_an_answer_of_them_that_rests_on_every_task() -> None:
    story = many()
    while groups := groups_due(story.run):
        assert isinstance(await follows(story, topic_of_group(groups[0])), ev.ReductionCompleted)

    answer = await follows(story, ANSWERING)

    assert isinstance(answer, ev.SynthesisCompleted)
    assert {name for statement in answer.statements for name in statement.tasks} == set(story.run.tasks)
    assert "31 of 31 tasks delivered." in answer.answer
