/**
 * The lanes by keyboard: one stop, from which the arrows go from thing to thing along a lane and to the lane above or
 * below; Home and End go to the ends of a lane, Enter selects.
 */

export function laneKeys({ scroller, view, reveal }) {
  let at = null; // {row, key}: what the keyboard is at.
  scroller.addEventListener("focusin", ({ target }) => {
    if (target.item) at = { row: rowOf(target), key: target.item.key };
  });
  return { active, press };

  /** The key of what can be reached by Tab. */
  function active() {
    return at?.key ?? null;
  }

  function press(event) {
    const go = {
      ArrowRight: () => along(1),
      ArrowLeft: () => along(-1),
      ArrowDown: () => across(1),
      ArrowUp: () => across(-1),
      Home: () => toEnd(0),
      End: () => toEnd(-1),
    }[event.key];
    if (!go || event.target.matches(".lane-name")) return false;
    const found = go();
    if (found) focus(found);
    return Boolean(found);
  }

  function rowOf(element) {
    return element.closest(".lane").dataset.row;
  }

  function here() {
    const index = Math.max(
      0,
      view.rows.findIndex((row) => row.key === at?.row),
    );
    const items = view.itemsOf(view.rows[index]);
    return { index, items, place: items.findIndex((item) => item.key === at?.key) };
  }

  function along(step) {
    const { index, items, place } = here();
    const item = items[place < 0 ? 0 : place + step];
    return item && { row: view.rows[index], item };
  }

  function across(step) {
    const { index, items, place } = here();
    const from = items[place]?.from ?? -Infinity;
    for (let next = place < 0 ? index : index + step; view.rows[next]; next += step) {
      const found = view.itemsOf(view.rows[next]);
      if (found.length) return { row: view.rows[next], item: nearest(found, from) };
    }
    return null;
  }

  function toEnd(place) {
    const { index, items } = here();
    const item = items.at(place);
    return item && { row: view.rows[index], item };
  }

  function focus({ row, item }) {
    at = { row: row.key, key: item.key };
    reveal(row, item);
    scroller.querySelector(`[data-key="${CSS.escape(item.key)}"]`)?.focus({ preventScroll: true });
  }
}

function nearest(items, from) {
  return items.reduce((best, item) => (Math.abs(item.from - from) < Math.abs(best.from - from) ? item : best));
}
