/**
 * How high things stand: as near as can be to what they hang on, in their order and without touching. For one layer
 * that is an isotonic regression, which pooling adjacent violators solves at once; going to and fro settles the whole.
 */

const SWEEPS = 14;
const STRAIGHT = { lines: 8, mixed: 2, nodes: 1 };
const LOOSE = 0.05;

/** Set `y`, the middle of each item, for layers that are in order. */
export function placed(layers, gapY) {
  for (const layer of layers) stacked(layer, gapY);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    const sides = sweep < SWEEPS - 2 ? [forward ? "before" : "after"] : ["before", "after"];
    for (const layer of forward ? layers : layers.toReversed()) settled(layer, sides, gapY);
  }
}

function stacked(layer, gapY) {
  const offsets = offsetsOf(layer, gapY);
  const middle = offsets.at(-1) / 2;
  layer.forEach((item, index) => (item.y = offsets[index] - middle));
}

/** How far below the first each item stands when all are as close as they may be. */
function offsetsOf(layer, gapY) {
  let offset = 0;
  return layer.map((item, index) => {
    const above = layer[index - 1];
    if (above) offset += (above.height + item.height) / 2 + (above.node && item.node ? gapY : gapY / 2);
    return offset;
  });
}

function settled(layer, sides, gapY) {
  const offsets = offsetsOf(layer, gapY);
  const wishes = layer.map((item, index) => {
    const { y, weight } = wishOf(item, sides);
    return { y: y - offsets[index], weight };
  });
  pooled(wishes).forEach((y, index) => (layer[index].y = y + offsets[index]));
}

function wishOf(item, sides) {
  let sum = item.y * LOOSE;
  let weight = LOOSE;
  for (const other of sides.flatMap((side) => item[side])) {
    const pull = item.node && other.node ? STRAIGHT.nodes : item.node || other.node ? STRAIGHT.mixed : STRAIGHT.lines;
    sum += other.y * pull;
    weight += pull;
  }
  return { y: sum / weight, weight };
}

/** The values that do not fall and are nearest to what is wished for. */
function pooled(wishes) {
  const blocks = [];
  for (const { y, weight } of wishes) {
    blocks.push({ y, weight, count: 1 });
    while (blocks.length > 1 && blocks.at(-2).y > blocks.at(-1).y) {
      const below = blocks.pop();
      const above = blocks.at(-1);
      const total = above.weight + below.weight;
      above.y = (above.y * above.weight + below.y * below.weight) / total;
      above.weight = total;
      above.count += below.count;
    }
  }
  return blocks.flatMap(({ y, count }) => new Array(count).fill(y));
}
