/** The order of what stands in a layer: by sweeps from left to right and back, each near those that it hangs on. */

const SWEEPS = 12;
const FRUITLESS = 4;

/** Set the `order` of every item, and sort the layers by it; the best of the orders that the sweeps come by is kept. */
export function withFewCrossings(layers) {
  layers.forEach(numbered);
  let best = { crossings: crossingsIn(layers), orders: ordersOf(layers) };
  let fruitless = 0;
  for (let sweep = 0; sweep < SWEEPS && best.crossings && fruitless < FRUITLESS; sweep++) {
    const forward = sweep % 2 === 0;
    for (const layer of forward ? layers : layers.toReversed()) sorted(layer, forward ? "before" : "after");
    const crossings = crossingsIn(layers);
    fruitless = crossings < best.crossings ? 0 : fruitless + 1;
    if (crossings < best.crossings) best = { crossings, orders: ordersOf(layers) };
  }
  layers.forEach((layer, index) => {
    layer.splice(0, layer.length, ...best.orders[index]);
    numbered(layer);
  });
  return layers;
}

/** How often lines cross between the layers. */
export function crossingsIn(layers) {
  return layers.reduce((sum, layer) => sum + crossingsBehind(layer), 0);
}

/** Lines sorted by their beginnings cross as often as their ends stand in the wrong order. */
function crossingsBehind(layer) {
  const ends = layer.flatMap((item) => item.after.map((next) => next.order).sort((a, b) => a - b));
  const counts = new Array(Math.max(0, ...ends) + 2).fill(0); // A binary indexed tree.
  let crossings = 0;
  ends.forEach((end, index) => {
    let notAbove = 0;
    for (let place = end + 1; place > 0; place -= place & -place) notAbove += counts[place];
    crossings += index - notAbove;
    for (let place = end + 1; place < counts.length; place += place & -place) counts[place] += 1;
  });
  return crossings;
}

function sorted(layer, side) {
  const wanted = new Map(layer.map((item) => [item, meanOf(item[side], item.order)]));
  layer.sort((a, b) => wanted.get(a) - wanted.get(b) || a.order - b.order);
  numbered(layer);
}

function meanOf(neighbours, otherwise) {
  if (!neighbours.length) return otherwise;
  return neighbours.reduce((sum, each) => sum + each.order, 0) / neighbours.length;
}

function numbered(layer) {
  layer.forEach((item, order) => (item.order = order));
}

function ordersOf(layers) {
  return layers.map((layer) => [...layer]);
}
