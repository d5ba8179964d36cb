"""Work that is claimed without the means: what somebody says to have done is borne out by a tool that acts, or not."""

import pytest

from app.domain.conversation import Conversation
from app.domain.results import Output
from app.domain.tool_use import says_own_deed, with_calls


@pytest.mark.parametrize(
    "text",
    [
        "Saved report.md, commit 1a2b3c4.",
        "I wrote report.md.",
        "Created report.md with the findings.",
        "Done.\nUpdated src/a.py.",
        "I have saved the figures to totals.csv.",
        "We've pushed the change to main.py.",
        "- Generated report.md",
        "Sent it to anna@example.org.",
        "I ran the tests; all 12 pass.",
        "All is well. I've just renamed a.md.",
    ],
)
def test_who_says_to_have_done_something_claims_it(text: str) -> None:
    assert says_own_deed(text)
    assert with_calls(Output(summary=text), Conversation()).unverified


@pytest.mark.parametrize(
    "text",
    [
        "The letter of 3 May was sent to anna@example.org.",
        "parse was updated in src/a.py by commit 1a2b3c4.",
        "report.md says so.",
        "It is written in config.yaml, line 3.",
        "The figures come from totals.csv.",
        "Nobody has saved report.md.",
        "A created file lies in a.txt.",
    ],
)
def test_who_tells_of_what_others_did_claims_nothing(text: str) -> None:
    assert not says_own_deed(text)


def test_a_task_whose_worker_lacks_the_tool_is_borne_out_by_nothing() -> None:
    assert with_calls(Output(summary="Done."), Conversation(), lacks_tool=True).unverified
