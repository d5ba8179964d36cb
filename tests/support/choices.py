"""What a scripted judge writes: it goes by what the candidates say, since it does not see whose they are."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.stub_answers import Answer, as_json
from tests.support.stub_script import SeenRequest

_CANDIDATE = re.compile(r"<candidate>\n(.*?)\n</candidate>", re.DOTALL)


def candidates_in(seen: SeenRequest) -> list[dict[str, Any]]:
    """The candidates that a judge is shown, in their order."""
    return [json.loads(found) for found in _CANDIDATE.findall(seen.body["messages"][0]["content"][0]["text"])]


def chosen(seen: SeenRequest, label: str) -> dict[str, Any]:
    """A choice that says of each criterion that this candidate is best."""
    schema = seen.body["output_config"]["format"]["schema"]["properties"]
    names = schema["criteria"]["items"]["properties"]["criterion"]["enum"]
    looks = [{"criterion": name, "best": label, "note": "so it is"} for name in names]
    return {"criteria": looks, "choice": label, "reason": f"{label} says more."}


def choice(seen: SeenRequest, label: str, **changes: Any) -> Answer:
    """The same as a reply, with other fields where a test wants them."""
    return as_json(chosen(seen, label) | changes)


def choosing(words: str) -> Callable[[SeenRequest], Answer]:
    """A judge that chooses the candidate whose text holds these words."""

    def answer(seen: SeenRequest) -> Answer:
        [label] = [each["candidate"] for each in candidates_in(seen) if words in each["text"]]
        return choice(seen, label)

    return answer


def may_rest_on(seen: SeenRequest) -> list[str]:
    """The tasks that an answer is allowed to rest on."""
    statement = seen.body["output_config"]["format"]["schema"]["properties"]["statements"]["items"]
    return list(statement["properties"]["tasks"]["items"]["enum"])
