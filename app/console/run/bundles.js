/** Many tasks that hang on the same and that the same hang on, such as one for each file, are drawn as one block. */

const FEWEST = 9;
const PADDING = 10;
const GAP = 10;
const SHAPE = 0.8;

/** The graph with blocks in place of such tasks; `nodes` are `{id, width, height}`, a block has its `members` too. */
export function bundled(nodes, edges) {
  const blocks = alike(nodes, edges).filter((group) => group.length >= FEWEST).map(blockOf);
  if (!blocks.length) return { nodes, edges };
  const into = new Map(blocks.flatMap((block) => block.members.map((member) => [member.id, block])));
  const placed = [...new Set(nodes.map((node) => into.get(node.id) ?? node))];
  const joined = new Map();
  for (const { from, to } of edges) {
    const edge = { from: into.get(from)?.id ?? from, to: into.get(to)?.id ?? to };
    joined.set(JSON.stringify(edge), edge);
  }
  return { nodes: placed, edges: [...joined.values()] };
}

function alike(nodes, edges) {
  const before = new Map(nodes.map(({ id }) => [id, []]));
  const behind = new Map(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    before.get(to).push(from);
    behind.get(from).push(to);
  }
  const groups = new Map();
  for (const node of nodes) {
    const place = JSON.stringify([before.get(node.id).sort(), behind.get(node.id).sort()]);
    groups.set(place, [...(groups.get(place) ?? []), node]);
  }
  return [...groups.values()];
}

/** About as high as it is wide. */
function blockOf(members) {
  const width = Math.max(...members.map((each) => each.width));
  const height = Math.max(...members.map((each) => each.height));
  const rows = Math.max(1, Math.round(Math.sqrt((members.length * (width + GAP) * SHAPE) / (height + GAP))));
  const columns = Math.ceil(members.length / rows);
  return {
    id: `/${members[0].id}…`,
    kind: "bundle",
    width: columns * (width + GAP) - GAP + 2 * PADDING,
    height: rows * (height + GAP) - GAP + 2 * PADDING,
    members: members.map((node, index) => ({
      ...node,
      x: PADDING + Math.floor(index / rows) * (width + GAP),
      y: PADDING + (index % rows) * (height + GAP),
    })),
  };
}
