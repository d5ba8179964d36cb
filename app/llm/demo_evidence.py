"""What the demo model makes of what its tools brought back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.domain.conversation import Block
from app.llm.demo_grid import Grid, compared, grids_in, in_words
from app.llm.demo_prompts import ToolResults, counted, excerpt, fenced, gist, unsigned
from app.llm.demo_tables import LIST_COLUMNS, ROWS_WANTED
from app.llm.demo_texts import Line, lines_in, pointed_out, quoted, telling

LINES_READ = 60
PAGE_CHARACTERS = 1_200
TEXT_CHARACTERS = 1_500

_CALCULATED = re.compile(r"^(?:- )?`([^`]+)` = (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What tool calls brought: a sentence, the material behind it, and the source."""

    sentence: str
    detail: str = ""
    source: str | None = None
    figures: Sequence[Mapping[str, str]] = ()
    """What was computed, by name; one for each row. Empty for what was read."""
    failed: bool = False


def grid_of(output: str) -> Grid:
    """The table that a query brought."""
    grid = next(iter(grids_in(output)), Grid((), ()))
    return replace(grid, complete=len(grid.rows) < ROWS_WANTED and not output.startswith("The first"))


def listed_columns(results: ToolResults) -> Grid:
    """The answer to `LIST_COLUMNS`, empty when there was none."""
    answers = [output for call, output, failed in results if _sql(call) == LIST_COLUMNS and not failed]
    return grid_of(answers[0]) if answers else Grid((), ())


def named_values(results: ToolResults) -> list[tuple[str, str, str]]:
    """What queries for values brought: the query, the column and the value. A value counts for its first column."""
    found: dict[tuple[str, str], tuple[str, str, str]] = {}
    for call, output, failed in results:
        grid = grid_of(output)
        if not failed and grid.header == ("column", "value"):
            for column, value in grid.rows:
                found.setdefault((_sql(call), value), (_sql(call), column, value))
    return list(found.values())


def evidence_of(
    results: ToolResults, queries: Mapping[str, str], inputs: Sequence[str], words: Sequence[str], *, gathering: bool
) -> list[Evidence]:
    """What the calls brought for the task; looking around is no evidence.

    `queries` are those for figures, each with the input it reads. `words` are what texts were searched for. Who is
    `gathering` for others brings a short text along although it has none of them.
    """
    found = [each for result in results if (each := _evidence(*result, queries))]
    return [*found, *_passages(results, inputs, words, gathering)]


def _evidence(call: Block, output: str, failed: bool, queries: Mapping[str, str]) -> Evidence | None:
    asked = call["input"]
    if failed:
        return Evidence(f"`{call['name']}` failed: {gist(output, 300).rstrip('.')}.", failed=True)
    match call["name"]:
        case "calculate":
            sentence = f"`{asked['expression']}` = {output}"
            return Evidence(sentence, figures=figures_in(sentence))
        case "query_data" if asked["sql"] in queries:
            grid, source = grid_of(output), queries[asked["sql"]]
            told = f"{grid.printed()}\n\n{fenced(asked['sql'], 'sql')}"
            sentence = in_words(grid, source, whole=" WHERE " not in asked["sql"])
            return Evidence(sentence, told, source, figures_in(grid.printed()))
        case "fetch_page":
            title = output.partition("\n")[0].removeprefix("Title: ")
            return Evidence(f"Read {asked['url']}: {gist(title)}.", _as_quote(output), asked["url"])
        case _:
            return None


def figures_in(text: str) -> list[dict[str, str]]:
    """The figures that a text of ours gives, by name: rows of tables, and results of expressions."""
    rows = [dict(zip(grid.header, row, strict=True)) for grid in grids_in(text) for row in grid.rows]
    return rows + [_result(expression, value) for expression, value in _CALCULATED.findall(text)]


def _result(expression: str, value: str) -> dict[str, str]:
    plus_alone = not set(expression) & set("*/-")
    return {"result": value, "answer": value, "value": value} | ({"sum": value} if plus_alone else {})


def _passages(results: ToolResults, inputs: Sequence[str], words: Sequence[str], gathering: bool) -> Iterator[Evidence]:
    """Of each text the lines that hold the words; or its beginning, when there is no word to look for."""
    shown = [line for call, output, failed in results if call["name"] == "read_input" and not failed for line in
             lines_in(output, _read(call, inputs))]  # fmt: skip
    for source in dict.fromkeys(line.source for line in shown):
        own = [line for line in shown if line.source == source]
        if best := telling(own, words):
            yield Evidence(pointed_out(best[0]), quoted(best), source)
        elif not words:
            yield Evidence(f"Read {source}. It begins: “{gist(own[0].text)}”", _beginning(own), source)
        else:
            passed_on = gathering and len(own) < LINES_READ
            none = f"No line of {source} holds a word of: {', '.join(words)}."
            sentence = f"{source} is passed on as it is, {counted(len(own), 'line')}." if passed_on else none
            yield Evidence(sentence, _beginning(own), source, failed=not passed_on)


def _beginning(lines: Sequence[Line]) -> str:
    return fenced(excerpt("\n".join(f"{line.number}: {line.text}" for line in lines), TEXT_CHARACTERS))


def _read(call: Block, inputs: Sequence[str]) -> Sequence[str]:
    name = call["input"].get("name")
    return [name] if name else inputs


def _sql(call: Block) -> Any:
    return call["input"].get("sql", "")


def _as_quote(page: str) -> str:
    body = excerpt(page.partition("\n\n")[2] or page, PAGE_CHARACTERS)
    return "\n".join(f"> {line}" for line in body.split("\n"))


def confidence_in(evidence: Sequence[Evidence]) -> float:
    """More for what was computed than for what was found."""
    worth = sum(0.0 if piece.failed else 0.7 if piece.figures else 0.4 for piece in evidence)
    return round(worth / max(len(evidence), 1), 2)


def sources_of(results: Sequence[dict[str, Any]], evidence: Sequence[Evidence]) -> list[str]:
    """What a report rests on: its own evidence, and what results rest on."""
    own = [piece.source for piece in evidence if piece.source]
    passed_on = [source for result in results for source in result["sources"]]
    return list(dict.fromkeys(own + passed_on))


def told(piece: Evidence) -> str:
    """A piece of evidence as a report shows it."""
    return f"- {piece.sentence}" + (f"\n\n{piece.detail}" if piece.detail else "")


def from_results(results: Sequence[dict[str, Any]]) -> list[Evidence]:
    """What can be said from the results alone: the figures in them side by side, or else what each says."""
    if shared := compared({result["task"]: grids_in(result["text"]) for result in results}):
        return [Evidence(in_words(shared[0]), shared[0].printed(), figures=figures_in(shared[0].printed()))]
    return [Evidence(unsigned(result["summary"]), figures=figures_in(result["text"])) for result in results]
