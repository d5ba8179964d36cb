"""What the demo model is told as a worker, what its tools have said, and what that lets it ask of the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.llm.demo_arithmetic import expressions_in
from app.llm.demo_evidence import listed_columns, named_values
from app.llm.demo_prompts import (
    PART,
    ToolResults,
    asked_and_about,
    input_names,
    opening_of,
    sections,
    tool_results,
    values,
)
from app.llm.demo_tables import Table, figures_query, fitting, tables_in, values_query
from app.llm.demo_texts import words_sought
from app.llm.model import Request

TABLES_QUERIED = 4


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker was given, and what its tools have said so far."""

    task: str
    context: str
    inputs: Sequence[str]
    results: Sequence[dict[str, Any]]
    answers: ToolResults

    @property
    def wanted(self) -> str:
        """The task with its context."""
        return f"{self.task}\n{self.context}"

    @property
    def words(self) -> list[str]:
        """What to look for in texts."""
        texts = [asked_and_about(self.task)[1], self.context]
        for name in self.inputs:
            texts = [text.replace(name, " ") for text in texts]
        return words_sought(*texts)

    @property
    def tables(self) -> list[Table]:
        """The tables that there are in its inputs."""
        return tables_in(listed_columns(self.answers), self.inputs)

    def queried(self) -> list[Table]:
        """The tables that the task is about, of those that its context is about."""
        return fitting(fitting(self.tables, self.wanted, TABLES_QUERIED), self.task, TABLES_QUERIED)

    def queries(self) -> dict[str, str]:
        """The queries for what the task asks of the tables, each with the input that it reads.

        None before it is known which values the task names, nor for a part that a table knows nothing of.
        """
        asked, about = asked_and_about(self.task)
        alone = asked != PART and not expressions_in(about)  # neither a part nor a sum that says all
        several = len({table.source for table in self.tables}) > 1
        looked_up = {call["input"].get("sql") for call, _, failed in self.answers if not failed}
        found: dict[str, str] = {}
        for table in self.queried():
            lookup, named = values_query(table, about), dict[str, list[str]]()
            for query, column, value in named_values(self.answers):
                if query == lookup:
                    named.setdefault(column, []).append(value)
            known = alone or named or table.source in about or any(each.named_in(about) for each in table.columns)
            if not known or (lookup and lookup not in looked_up):
                continue
            if asking := figures_query(table, about, self.wanted, named, several=several):
                found[asking] = table.source
        return found


def assignment_of(request: Request) -> Assignment:
    """The assignment that a request opens with, and what has come of it."""
    prompt = opening_of(request)
    found = sections(prompt)
    return Assignment(
        task="\n".join(found.get("task", [])),
        context="\n".join(found.get("context", [])),
        inputs=input_names(prompt),
        results=values(found.get("result", [])),
        answers=tool_results(request),
    )
