"""`chargehand answer`: what people say to what a run asks."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from app.client import Client, Question
from app.terminal.arguments import RunName
from app.terminal.errors import CommandRefused
from app.terminal.options import AsJson
from app.terminal.output import print_json, say
from app.terminal.service import Service, at_service
from app.terminal.text import inert, one_line
from app.terminal.which_run import run_meant
from app.terminal.words import duration, moment

_HEAD = "q_"

QuestionName = Annotated[
    str | None, typer.Argument(metavar="[QUESTION]", help="Id of a question; not needed where one is open.")
]
Said = Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The answer; asked for unless it is given.")]


@at_service
def answer(
    service: Service, run: RunName, question: QuestionName = None, text: Said = None, as_json: AsJson = False
) -> None:
    """Answer what a run asks: all that is open, one after the other, or one question."""
    if text is None and question is not None and not question.startswith(_HEAD):
        question, text = None, question  # `chargehand answer RUN TEXT`, where only one thing can be meant.

    async def asked(client: Client) -> tuple[str, list[Question]]:
        run_id = await run_meant(client, run)
        return run_id, await client.questions(run_id)

    run_id, questions = service.ask(asked)
    for each in _meant(questions, question, text, run_id):
        said = text if text is not None else _said_to(each)

        async def answered(client: Client, meant: str = each["id"], said: str = said) -> Question:
            return await client.answer(run_id, meant, said)

        given = service.ask(answered)
        if as_json:
            print_json(given)
        else:
            say(f"{given['id']} is answered; `chargehand watch {run_id}` shows how the run goes on.")


def _meant(questions: Sequence[Question], name: str | None, text: str | None, run_id: str) -> Sequence[Question]:
    """The questions that are to be answered. Raises `CommandRefused`."""
    if name is not None:
        # What became of one that is answered, expired or closed says the service.
        found = [each for each in questions if each["id"] == name]
        if not found:
            raise CommandRefused(f"question_not_found: {run_id} has asked nothing by the id {one_line(name)}")
        return found
    still_open = [each for each in questions if each["status"] == "open"]
    if not still_open:
        raise CommandRefused(f"{run_id} asks nothing")
    if text is not None and len(still_open) > 1:
        raise CommandRefused(f"{run_id} asks several things; name one: {', '.join(each['id'] for each in still_open)}")
    return still_open


def _said_to(question: Question) -> str:
    """What is answered at the prompt. A choice may be named by its number."""
    if sys.stdin is None:
        raise CommandRefused(f"{question['id']} is not answered: there is no standard input; give the answer as TEXT")
    say(question["question"])
    choices = question["choices"]
    for number, choice in enumerate(choices, start=1):
        say(f"  {number}  {one_line(choice)}")
    default = question["default"]
    taken = default.get("assumption") or default.get("action") or "nothing"
    left = (moment(question["expires_at"]) - datetime.now(UTC)).total_seconds()
    say(f"Unanswered for another {duration(1000 * max(left, 0))}: {one_line(str(taken))}")
    try:
        said = str(typer.prompt("Answer", err=True, prompt_suffix=": ", show_default=False)).strip()
    except typer.Abort:
        raise CommandRefused(f"{question['id']} is not answered: nothing was typed") from None
    number = int(said) if said.isascii() and said.isdecimal() else 0
    return choices[number - 1] if said not in choices and 0 < number <= len(choices) else inert(said)
