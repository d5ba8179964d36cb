"""Reading a stored reply again, as it would be read today."""

from collections.abc import Sequence

from app.agents.converse import consequences
from app.domain.events import Entry, Event
from app.domain.fold_conversation import conversation_after
from app.domain.policy.agenda import is_open, step_in
from app.domain.protocol import Read
from app.domain.snapshot import Snapshot
from app.domain.topics import topic_of


def reread(run: Snapshot, event: Event) -> Sequence[Entry]:
    """What the reply of `event` amounts to in the state before it; nothing unless it is read as a final one."""
    topic = topic_of(event)
    if not is_open(run, topic):
        return ()
    talk = conversation_after(run.conversation(topic), event.data)
    return consequences(run, topic, talk, {}) if isinstance(step_in(run, topic, talk), Read) else ()
