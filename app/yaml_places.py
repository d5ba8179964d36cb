"""YAML whose every part knows its line, so that what is wrong with a file is told where it stands."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Where in a document, step by step."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Ten times as fast, where it was built.


def composed(text: str) -> yaml.Node | None:
    """The document as nodes; None for one that holds nothing. Raises `yaml.YAMLError`."""
    try:
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError:
        with suppress(RecursionError):  # The other one has a bound for what is nested, and says so.
            return yaml.compose(text, Loader=yaml.SafeLoader)  # It says the same on every machine.
        raise


def value_of(root: yaml.Node) -> Any:
    """The document as a value. Raises `ValueError` and `yaml.YAMLError`."""
    return yaml.SafeLoader("").construct_document(root)


def faulty_line(error: yaml.MarkedYAMLError) -> int:
    """The line of what is no YAML."""
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def line_of(root: yaml.Node | None, place: Place) -> int:
    """The line of a place, or of the nearest one around it that the document has; counted from 1."""
    if root is None:
        return 1
    node, line = root, root.start_mark.line
    for step in place:
        if isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == str(step)]
            if not found:
                break
            line, node = found[-1][0].start_mark.line, found[-1][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1


def repeated_names(root: yaml.Node) -> Iterator[tuple[int, Place]]:
    """Names that stand twice in one mapping, each with its line: a reader may take either."""
    pending: list[tuple[Place, yaml.Node]] = [((), root)]
    seen = set()
    while pending:
        place, node = pending.pop()
        if id(node) in seen:  # Aliases make one node stand in many places, even within itself.
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += [((*place, index), item) for index, item in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            names = [name.value for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
            for number, (name, item) in enumerate(node.value):
                if isinstance(name, yaml.ScalarNode):
                    pending.append(((*place, name.value), item))
                    if name.value in names[:number]:
                        yield name.start_mark.line + 1, (*place, name.value)


def nested_below(root: yaml.Node, levels: int) -> int | None:
    """The line of something that lies more than so many levels deep; None where nothing does."""
    level = {id(root): root}  # A node that many places share is looked at once a level.
    for _ in range(levels + 1):
        level = {id(each): each for node in level.values() for each in _within(node)}
    return next((node.start_mark.line + 1 for node in level.values()), None)


def _within(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [value for _, value in node.value]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
