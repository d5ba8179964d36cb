from app.domain.events import Event
from app.metrics.meters import Meters
from app.store.chronicle import tell
from tests.support.story import Story, brief


def test_who_listens_hears_of_facts_beside_the_witness() -> None:
    story, meters = Story(brief()), Meters()
    story.queued()
    heard: list[Event] = []
    meters.listeners = (lambda _, events: heard.extend(events),)

    tell(meters, story.run, story.log)

    assert heard == story.log
    assert meters.registry.get_sample_value("chargehand_runs_accepted_total", {"team": "crew"}) == 1
