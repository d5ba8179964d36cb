/**
 * The layers of a graph. A node stands one layer behind the last of those that it depends on. What goes further than to
 * the next layer goes through one place in each layer between; all that leaves a node shares these places.
 */

const LINE_HEIGHT = 8;

/** The items of each layer, nodes and places of lines, and the chain of items of each edge. */
export function inLayers(nodes, edges) {
  const known = new Set(nodes.map(({ id }) => id));
  const sound = edges.filter(({ from, to }) => from !== to && known.has(from) && known.has(to));
  const ranks = ranksOf(nodes, sound);
  const forward = sound.filter(({ from, to }) => ranks.get(from) < ranks.get(to));
  const layers = [];
  const items = new Map();
  for (const node of nodes) {
    const item = itemAt(ranks.get(node.id), node);
    items.set(node.id, item);
    (layers[item.layer] ??= []).push(item);
  }
  const lines = new Map();
  const chains = forward.map((edge) => ({ edge, items: chainOf(edge, items, lines, layers) }));
  return { layers, chains };
}

/** The longest way to each node; what waits for itself stands in front. */
function ranksOf(nodes, edges) {
  const ranks = new Map(nodes.map(({ id }) => [id, 0]));
  const waiting = new Map(nodes.map(({ id }) => [id, 0]));
  const after = new Map(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    waiting.set(to, waiting.get(to) + 1);
    after.get(from).push(to);
  }
  const ready = nodes.filter(({ id }) => !waiting.get(id)).map(({ id }) => id);
  for (const id of ready) {
    for (const next of after.get(id)) {
      ranks.set(next, Math.max(ranks.get(next), ranks.get(id) + 1));
      waiting.set(next, waiting.get(next) - 1);
      if (!waiting.get(next)) ready.push(next);
    }
  }
  for (const [id, left] of waiting) if (left) ranks.set(id, 0);
  return ranks;
}

function itemAt(layer, node = null) {
  const size = { width: node?.width ?? 0, height: node?.height ?? LINE_HEIGHT };
  return { layer, node, ...size, before: [], after: [], order: 0, y: 0 };
}

function chainOf({ from, to }, items, lines, layers) {
  const last = items.get(to);
  const chain = [items.get(from)];
  for (let layer = chain[0].layer + 1; layer < last.layer; layer++) {
    const name = `${layer} ${from}`;
    if (!lines.has(name)) {
      const line = itemAt(layer);
      lines.set(name, line);
      (layers[layer] ??= []).push(line);
      join(chain.at(-1), line);
    }
    chain.push(lines.get(name));
  }
  if (!last.before.includes(chain.at(-1))) join(chain.at(-1), last);
  return [...chain, last];
}

function join(item, next) {
  item.after.push(next);
  next.before.push(item);
}
