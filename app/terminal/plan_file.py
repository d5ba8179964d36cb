"""A plan as a file that people edit: YAML, with comments that say what may be changed and what was found wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from yaml.composer import ComposerError

from app.terminal.text import one_line

EDITABLE = ("goal", "strategy", "final_instruction", "tasks")
"""The fields of a plan that an edit may change."""
_FINDING = "#! "
_WIDTH = 100
_HEAD = """\
# The plan of {run}, which waits for approval. Save and leave the editor to send it.
#
# goal               what the run is to bring
# strategy           how results become the answer: merge, select or reduce
# final_instruction  what the synthesis is told about the answer
# tasks              change, remove, reorder or add any. Of each task:
#   id                 lower-case letters, digits, - and _; other tasks name it under depends_on
#   title              a few words for people
#   instruction        what to do, complete in itself; context is what must be known to do it
#   success_criterion  by what one sees that it is done
#   worker             {workers}
#   depends_on         ids of the tasks whose results it is given
#   required           whether the run cannot succeed without it
#   on_missing_input   skip, or proceed: what to do when one of those tasks delivers nothing
#   budget             bounds of its own: tokens, steps, timeout_s, deadline_s
#
# revision is the one that was read: leave it as it is. A file without a change sends nothing.

"""


class PlanUnreadable(Exception):
    """The file is no plan; the message says why and where."""


class _Writer(yaml.SafeDumper):
    """Writes texts of several lines as such."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their names."""
        super().increase_indent(flow, False)


class _Reader(yaml.SafeLoader):
    """Reads what JSON can say. What looks like a date is a text; sets, bytes and what else YAML knows are refused."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse what stands for another place: a few lines of it could be a circle, or endless."""
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise ComposerError(None, None, "write it out: other places cannot be named", mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


_KNOWN = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map"))
_Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KNOWN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Reader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _KNOWN
}


def _text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Writer.add_representer(str, _text)


def as_file(plan: Mapping[str, Any], run_id: str, workers: Sequence[str]) -> str:
    """The plan with what may be changed about it."""
    shown = {"revision": plan["revision"]} | editable_of(plan)
    named = ", ".join(map(one_line, workers)) or "one of the team"
    return _HEAD.format(run=run_id, workers=named) + yaml.dump(
        shown, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDTH
    )


def editable_of(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that may be changed. Bounds that are not set are left out: they mean nothing."""
    shown = {name: plan[name] for name in EDITABLE}
    return shown | {"tasks": [task | {"budget": _set_of(task["budget"])} for task in plan["tasks"]]}


def read_file(text: str) -> tuple[int | None, dict[str, Any]]:
    """The revision that a file names, and its fields. Raises `PlanUnreadable`."""
    try:
        written = yaml.load(text, _Reader)
        json.dumps(written, ensure_ascii=False, allow_nan=False).encode()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise PlanUnreadable(one_line(f"{place}{error.problem}")) from None
    except UnicodeEncodeError:
        raise PlanUnreadable("it has half a character (a surrogate), which cannot be sent") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise PlanUnreadable(one_line(str(error)) or type(error).__name__) from None
    if written is None:
        return None, {}
    if not isinstance(written, dict) or not all(isinstance(name, str) for name in written):
        raise PlanUnreadable(f"it must have fields, such as {', '.join(EDITABLE)}")
    revision = written.pop("revision", None)
    return revision if isinstance(revision, int) else None, written


def changes_of(plan: Mapping[str, Any], edited: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are to be different; those that are left out stay."""
    before = editable_of(plan)
    return {name: value for name, value in edited.items() if name not in before or before[name] != value}


def with_findings(text: str, findings: Sequence[str]) -> str:
    """The file with what was found wrong at its head, and without what was found before."""
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith(_FINDING)]
    return "".join([*(f"{_FINDING}{one_line(each)}\n" for each in findings), *kept])


def _set_of(budget: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in budget.items() if value is not None}
