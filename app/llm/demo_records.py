"""How the demo model fills the lists that a worker, or an answer, promises: with what can be had by rule, and no more.

A list of records is had from a query in the task whose columns are its fields, from questions that the task lists and
the lines that have most of their words, from records of a result that its own are to name, or from the results
themselves. A field that needs a judgement stays empty, or says that it takes a language model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.llm.demo_grid import Grid, as_json, number_in
from app.llm.demo_material import answers_in, entries_of, figure_before, figure_in, items_of, labelled
from app.llm.demo_passages import passages_of
from app.llm.demo_prompts import SIGNED, excerpt, gist, lists_in, unsigned
from app.llm.demo_schema import fits
from app.llm.demo_texts import Line

JUDGED_BY_NONE = f"{SIGNED} this takes a language model."
BY_RULE = "filled in by rule"
"""How the summaries of such lists begin, which say nothing of what is in them."""
ABOUT = "It is about:"
ROWS_TOLD = 40
CELL_CHARACTERS = 160

Record = Mapping[str, Any]
"""What is known of a record, by the names of its fields."""
Fields = Mapping[str, Any]
"""What the fields of the records of a list must be like, by their names."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What records may rest on."""

    grids: Sequence[Grid]
    """What the queries of the task brought."""
    questions: Mapping[str, str]
    lines: Sequence[Line]
    results: Sequence[Mapping[str, Any]]
    subjects: Sequence[str] = ()
    """What passages are to be about."""
    unheard: Sequence[str] = ()
    """Tasks that were to bring a result and did not."""


class Unfillable(Exception):
    """A value is promised that no rule can have."""


def recorded(schema: Mapping[str, Any], ground: Ground) -> dict[str, Any] | None:
    """Data that fit the schema; None where it has no list of records, or no rule has anything for one."""
    lists = {name: fields for name, part in _properties(schema) if (fields := _fields(part))}
    found = {name: _records(name, fields, _for_list(name, lists, ground)) for name, fields in lists.items()}
    known = {name: records for name, records in found.items() if records is not None}
    if not known:
        return None
    try:
        data = {name: _filled(name, part, known.get(name, ()), ground.lines) for name, part in _properties(schema)}
    except Unfillable:
        return None
    return data if fits(data, schema) else None


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, part) for name, part in (schema.get("properties") or {}).items() if isinstance(part, dict)]


def _fields(part: Mapping[str, Any]) -> Fields:
    """The fields of the records of a list; empty for anything else."""
    items = part.get("items") if part.get("type") == "array" else None
    return dict(_properties(items)) if isinstance(items, dict) else {}


def _for_list(name: str, lists: Mapping[str, Fields], ground: Ground) -> Ground:
    """The same without the rows of queries that have more of the fields of another list."""
    return replace(ground, grids=[grid for grid in ground.grids if _closest(grid, lists) == name])


def _closest(grid: Grid, lists: Mapping[str, Fields]) -> str:
    return max(lists, key=lambda each: len(lists[each].keys() & set(grid.header)) / len(lists[each]))


def _records(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """What is known of the records of a list, by the first rule that has a ground; None when none has."""
    for rule in (_queried, _asked, _carried, _quoted, _entered, _referring, _resting, _listed):
        if (found := rule(name, fields, ground)) is not None:
            return found
    return None


def _queried(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """The rows of the queries whose columns are fields of this list."""
    own = [grid for grid in ground.grids if len(fields.keys() & set(grid.header)) > 1]
    return [dict(zip(grid.header, row, strict=True)) for grid in own for row in grid.rows] if own else None


def _asked(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """A record for each question of each input, with the line that answers it if there is one."""
    if "question" not in fields or not ground.questions or not ground.lines:
        return None
    sources = list(dict.fromkeys(line.source for line in ground.lines))
    return [
        reply
        for source in sources
        for reply in _replies(source, [line for line in ground.lines if line.source == source], ground.questions)
    ]


def _replies(source: str, lines: Sequence[Line], questions: Mapping[str, str]) -> Iterator[Record]:
    found = answers_in(lines, questions)
    for label, question in questions.items():
        line = found.get(label)
        text = None if line is None else line.text.strip().lstrip("-*• ")
        number = None if text is None else figure_in(text, question)
        known = {"question": label, "source": source, "text": text, "quote": text, "number": number}
        yield known | {"line": None if line is None else line.number}


def _carried(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """The records of the list of that name in the results; those about one subject are one, as they agree."""
    every = {str(each["task"]): lists_in(each.get("data")) for each in ground.results}
    lists = {task: held[name] for task, held in every.items() if name in held}
    records = [record for held in lists.values() for record in held]
    if not lists or "subject" not in fields:
        return [*_unlike(records)] if lists else None
    return [_agreed(subject, lists, ground.unheard) for subject in dict.fromkeys(map(_subject, records))]


def _subject(record: Record) -> str:
    return str(record.get("subject"))


def _agreed(subject: str, lists: Mapping[str, Sequence[Record]], unheard: Sequence[str]) -> Record:
    """What all lists say alike of a subject, and reasons one after the other. Where one says nothing they do not."""
    own = {task: [each for each in held if _subject(each) == subject] for task, held in lists.items()}
    records = [record for held in own.values() for record in held]
    silent = [*(task for task, held in own.items() if not held), *unheard]
    said = {
        name: [*_unlike(each.get(name) for each in records)] for name in dict.fromkeys(n for r in records for n in r)
    }
    alike = {name: values[0] if len(values) == 1 and not silent else None for name, values in said.items()}
    reasons = [*map(str, said.get("reason", ())), *(f"nothing is said of it by {task}" for task in silent)]
    return alike | {"subject": subject, "reason": "; ".join(reasons)}


def _quoted(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """The passages of texts, where records quote several lines."""
    is_passage = {"quote", "line", "end_line"} <= fields.keys() and ground.lines
    return list(passages_of(ground.lines, ground.subjects)) if is_passage else None


def _entered(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """What stands behind labels in texts, where records say what of an item."""
    found: list[Record] = [*entries_of(ground.lines)] if {"item", "value", "line"} <= fields.keys() else []
    return found or None


def _referring(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """A record for each record of a result that a field is to name: an `objective` for each of the `objectives`."""
    for each in ground.results:
        for field in fields:
            if held := lists_in(each.get("data")).get(f"{field}s"):
                return [_one_for(record, number, name, field) for number, record in enumerate(held, 1)]
    return None


def _one_for(record: Record, number: int, name: str, field: str) -> Record:
    about = next((str(record[each]) for each in ("title", "name", field) if record.get(each)), str(record.get("id")))
    about, own = about.rpartition(f"{ABOUT} ")[2], f"{name[:1]}{number}"
    return {"id": own, field: record.get("id", about), "title": gist(unsigned(about), 80), "file": f"{own}.md"}


def _resting(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """A record for each record of a result that has a reason, else for each result, where records quote a task."""
    if not {"task", "quote"} <= fields.keys() or not ground.results:
        return None
    reasoned = [(each["task"], *_reasoned(record)) for each in ground.results for record in _reasons_in(each)]
    summed_up = [(each["task"], unsigned(each["summary"])) for each in ground.results]
    told = reasoned or [(task, said, said) for task, said in summed_up if not said.startswith(BY_RULE)]
    return [dict.fromkeys(fields.keys() - {"task"}, said) | {"task": task, "quote": why} for task, said, why in told]


def _reasons_in(result: Mapping[str, Any]) -> Iterator[Record]:
    yield from (each for held in lists_in(result.get("data")).values() for each in held if each.get("reason"))


def _reasoned(record: Record) -> tuple[str, str]:
    """What a record says with its reason, and the reason."""
    said = ", ".join(str(value) for name, value in record.items() if name != "reason" and value is not None)
    return f"{said}: {record['reason']}", str(record["reason"])


def _listed(name: str, fields: Fields, ground: Ground) -> list[Record] | None:
    """A record for each entry of the texts, where records name a line."""
    if "line" not in fields or "title" not in fields or not ground.lines:
        return None
    return [
        {field: figure_before(field, below) for field in fields}
        | {"id": f"{name[:1]}{number}", "title": gist(text, 120), "source": line.source, "line": line.number}
        for number, (text, line, below) in enumerate(items_of(ground.lines), 1)
    ]


def _unlike(values: Iterable[Any]) -> Iterator[Any]:
    """Each value once."""
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
            yield value


def _filled(name: str, part: Mapping[str, Any], records: Sequence[Record], lines: Sequence[Line]) -> Any:
    if fields := _fields(part):
        return [_record(fields, record, lines) for record in records]
    return [] if part.get("type") == "array" else _value(name, part, {}, lines)


def _record(fields: Fields, known: Record, lines: Sequence[Line]) -> dict[str, Any]:
    own = [line for line in lines if line.source == known.get("source")] or lines
    return {name: _value(name, part, known, own) for name, part in fields.items()}


def _value(name: str, part: Mapping[str, Any], known: Record, lines: Sequence[Line]) -> Any:
    """What is known of a field, or stands behind its name in the lines, in its form; else nothing, or that it takes a
    judgement. Raises `Unfillable`."""
    form, kinds = _form_of(part)
    value = known[name] if name in known else labelled(lines, name)
    if value not in (None, "") and (formed := _formed(value, form, kinds)) is not None:
        return formed
    if "null" in kinds:
        return None
    if "string" in kinds and "enum" not in form:
        return f"{JUDGED_BY_NONE} {ABOUT} {known['title']}" if known.get("title") else JUDGED_BY_NONE
    raise Unfillable(name)


def _form_of(part: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
    """What a value must be like where it is not null, and the types that it may have."""
    choices = part.get("anyOf") or [part]
    form = next((each for each in choices if each.get("type") != "null"), part)
    said = [each.get("type", "string") for each in choices]
    return form, frozenset(kind for each in said for kind in ([each] if isinstance(each, str) else each))


def _formed(value: Any, form: Mapping[str, Any], kinds: frozenset[str]) -> Any:
    """The value as the schema wants it; None where it cannot be that."""
    if "enum" in form:
        return value if value in form["enum"] else None
    if "string" in kinds:
        return str(value)
    if "boolean" in kinds:
        return {"true": True, "false": False}.get(str(value).casefold())
    number = number_in(str(value)) if kinds & {"number", "integer"} else None
    return None if number is None else as_json(number)


def told_of(data: Mapping[str, Any]) -> tuple[str, str]:
    """What the data hold, in a sentence and in tables."""
    lists = {name: value for name, value in data.items() if isinstance(value, list)}
    counted = ", ".join(f"{name.replace('_', ' ')} ({len(value)})" for name, value in lists.items())
    tables = [f"{name.replace('_', ' ').capitalize()}:\n\n{_table(value)}" for name, value in lists.items() if value]
    empty = ", ".join(name.replace("_", " ") for name, value in lists.items() if not value)
    left = f" No rule has anything for {empty}: whether there is anything takes a language model." if empty else ""
    return f"{BY_RULE}: {counted}.{left}", "\n\n".join(tables)


def _table(records: Sequence[Any]) -> str:
    rows = [record for record in records if isinstance(record, dict)]
    header = tuple(dict.fromkeys(name for row in rows for name in row if any(each.get(name) for each in rows)))
    cells = tuple(tuple(_cell(row.get(name)) for name in header) for row in rows[:ROWS_TOLD])
    left = f"\n\n{len(rows) - ROWS_TOLD} more are in the data." if len(rows) > ROWS_TOLD else ""
    return Grid(header, cells).printed() + left


def _cell(value: Any) -> str:
    text = "" if value is None else "yes" if value is True else "no" if value is False else str(value)
    return excerpt(" ".join(unsigned(text).split()), CELL_CHARACTERS).replace("\n", " ")
