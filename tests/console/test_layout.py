"""How plans are placed as graphs: a table of graphs, and what holds for each."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.plan import levels_of
from tests.console.conftest import Desk

Graph = Mapping[str, Sequence[str]]
"""What each task depends on."""
WIDTH, HEIGHT = 200, 50
MS_ALLOWED = 30
_LAY_OUT = """async (graphs) => {
  const { layout } = await import("/console/run/layout.js");
  const found = {};
  for (const [name, needs] of Object.entries(graphs)) {
    const ids = Object.keys(needs);
    const nodes = ids.map((id, index) => ({ id, width: 200, height: 50 + (index % 3) * 10 }));
    const edges = ids.flatMap((to) => needs[to].map((from) => ({ from, to })));
    const begun = performance.now();
    const placed = layout(nodes, edges);
    const took = [performance.now() - begun];
    for (let again = 0; again < 4; again++) {
      const begun = performance.now();
      const same = JSON.stringify([...layout(nodes, edges).nodes.values()]);
      took.push(performance.now() - begun);
      if (same !== JSON.stringify([...placed.nodes.values()])) throw new Error(`${name} is placed in two ways`);
    }
    found[name] = { ...placed, nodes: [...placed.nodes.values()], ms: took.sort((a, b) => a - b)[0] };
  }
  return found;
}"""
_BUNDLE = """async ([plan, edges]) => {
  const { graphOf, withoutImplied } = await import("/console/run/graph_model.js");
  const { RunFold } = await import("/console/run/fold.js");
  const { nodes, edges: lines } = graphOf(plan, new RunFold());
  return { nodes, lines: lines.map(({ from, to }) => [from, to]), left: withoutImplied(edges) };
}"""


def busy(seed: int, tasks: int, most: int) -> Graph:
    """Each task depends on a few of the ten before it."""
    dice = random.Random(seed)
    return {
        f"t{number}": sorted({f"t{dice.randrange(max(0, number - 10), number)}" for _ in range(dice.randint(1, most))})
        if number > 3
        else []
        for number in range(tasks)
    }


GRAPHS: dict[str, Graph] = {
    "nothing": {},
    "one": {"a": []},
    "chain": {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]},
    "diamond": {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
    "a long line": {"a": [], "b": ["a"], "c": ["b"], "d": ["c", "a"], "e": ["d", "a"]},
    "a fan": {"a": [], **{f"f{number}": ["a"] for number in range(20)}, "z": [f"f{number}" for number in range(20)]},
    "two pieces": {"a": [], "b": ["a"], "x": [], "y": ["x"], "z": []},
    "crossed": {"a": [], "b": [], "c": [], "x": ["c"], "y": ["b"], "z": ["a"]},
    "a hundred": busy(7, 100, 2),
    "a hundred, dense": busy(11, 100, 4),
}


async def test_graphs_are_placed_in_layers_without_overlaps(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")

    found = await page.evaluate(_LAY_OUT, GRAPHS)

    for name, needs in GRAPHS.items():
        nodes = {node["id"]: node for node in found[name]["nodes"]}
        assert {each: node["layer"] + 1 for each, node in nodes.items()} == levels_of(needs), name
        assert _overlapping([*nodes.values()]) == [], name
        assert all(
            node["y"] >= 0 and node["y"] + node["height"] <= found[name]["height"] + 0.001 for node in nodes.values()
        )
        lines = found[name]["edges"]
        assert {(line["from"], line["to"]) for line in lines} == {(a, b) for b, some in needs.items() for a in some}
        for line in lines:
            across = [x for x, _ in line["points"]]
            assert across == sorted(across), f"{name}: the line from {line['from']} to {line['to']} goes back"
            start, end = nodes[line["from"]], nodes[line["to"]]
            assert (across[0], across[-1]) == (start["x"] + WIDTH, end["x"])
            assert _hit(line, nodes) == [], name
    assert _bends(found["chain"]) == 0
    assert _crossings(found["crossed"]) == 0
    assert found["a hundred"]["ms"] < MS_ALLOWED


async def test_a_circle_and_what_is_not_there_are_left_out(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    graph = {"a": ["b"], "b": ["a"], "c": ["c", "nowhere"], "d": ["c"]}

    found = (await page.evaluate(_LAY_OUT, {"odd": graph}))["odd"]

    assert {node["id"] for node in found["nodes"]} == {"a", "b", "c", "d"}
    assert [(line["from"], line["to"]) for line in found["edges"]] == [("c", "d")]


async def test_tasks_that_hang_on_the_same_are_one_block_and_implied_lines_can_be_left_out(quiet_desk: Desk) -> None:
    page = await quiet_desk.open("")
    files = [{"id": f"f{number}", "depends_on": ["list"]} for number in range(12)]
    names = [each["id"] for each in files]
    tasks = [{"id": "list", "depends_on": []}, *files, {"id": "sum", "depends_on": names}]
    implied = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}, {"from": "a", "to": "c"}, {"from": "a", "to": "d"}]

    found = await page.evaluate(_BUNDLE, [{"tasks": tasks}, implied])

    [block] = [node for node in found["nodes"] if node["kind"] == "bundle"]
    assert [member["id"] for member in block["members"]] == names
    assert _overlapping(block["members"]) == []
    assert sorted(found["lines"]) == sorted(
        [["/plan", "list"], ["list", block["id"]], [block["id"], "sum"], ["sum", "/answer"]]
    )
    assert found["left"] == [each for each in implied if each != {"from": "a", "to": "c"}]


def _overlapping(nodes: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (one["id"], other["id"])
        for index, one in enumerate(nodes)
        for other in nodes[index + 1 :]
        if one["x"] < other["x"] + other["width"] - 0.001
        and other["x"] < one["x"] + one["width"] - 0.001
        and one["y"] < other["y"] + other["height"] - 0.001
        and other["y"] < one["y"] + one["height"] - 0.001
    ]


def _hit(line: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The nodes that a line runs through where it passes a layer."""
    inner = line["points"][1:-1]
    return [
        node["id"]
        for (x, y), _ in zip(inner[::2], inner[1::2], strict=True)
        for node in nodes.values()
        if node["x"] == x and node["y"] < y < node["y"] + node["height"]
    ]


def _bends(found: Mapping[str, Any]) -> int:
    return sum(len({round(y, 3) for _, y in line["points"]}) > 1 for line in found["edges"])


def _crossings(found: Mapping[str, Any]) -> int:
    ends = sorted((line["points"][0][1], line["points"][-1][1]) for line in found["edges"])
    return sum(a[1] > b[1] for index, a in enumerate(ends) for b in ends[index + 1 :])
