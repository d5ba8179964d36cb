/**
 * Where the parts of a graph stand: in layers from left to right, each node behind all that it depends on, with few
 * crossings and lines as straight as they can be. A pure function: the same graph is always placed the same way.
 */

import { withFewCrossings } from "./crossings.js";
import { inLayers } from "./layers.js";
import { placed } from "./placement.js";

const GAP_X = 56;
const GAP_Y = 16;

/**
 * Place `nodes`, each `{id, width, height}`, that hang together by `edges`, each `{from, to}`.
 *
 * Gives `{nodes, edges, width, height}`: nodes by id as `{id, x, y, width, height, layer}`, where x and y are the top
 * left corner, and edges as `{from, to, points}`, whose points alternate between the two sides of a gap of layers.
 * Edges of nodes that there are not, and those that would close a circle, are left out.
 */
export function layout(nodes, edges, { gapX = GAP_X, gapY = GAP_Y } = {}) {
  const { layers, chains } = inLayers(nodes, edges);
  if (!layers.length) return { nodes: new Map(), edges: [], width: 0, height: 0 };
  placed(withFewCrossings(layers), gapY);
  const columns = columnsOf(layers, gapX);
  const top = Math.min(...layers.flat().map((item) => item.y - item.height / 2));
  const bottom = Math.max(...layers.flat().map((item) => item.y + item.height / 2));
  const found = new Map();
  for (const item of layers.flat().filter((each) => each.node)) {
    const { id, width, height } = item.node;
    found.set(id, { id, x: columns[item.layer].left, y: item.y - height / 2 - top, width, height, layer: item.layer });
  }
  return {
    nodes: new Map(nodes.filter(({ id }) => found.has(id)).map(({ id }) => [id, found.get(id)])),
    edges: chains.map((chain) => ({ ...chain.edge, points: pointsOf(chain.items, columns, top) })),
    width: columns.at(-1).right,
    height: bottom - top,
  };
}

function columnsOf(layers, gapX) {
  let left = 0;
  return layers.map((layer) => {
    const right = left + Math.max(...layer.map((item) => item.width));
    const column = { left, right };
    left = right + gapX;
    return column;
  });
}

/** A line leaves a node on its right, goes straight through the columns between, and ends on the left of the other. */
function pointsOf(items, columns, top) {
  const [first, ...others] = items;
  const last = others.pop();
  const start = columns[first.layer].left + first.width;
  const through = others.flatMap(({ layer, y }) => [[columns[layer].left, y - top], [columns[layer].right, y - top]]);
  return [[start, first.y - top], ...through, [columns[last.layer].left, last.y - top]];
}
