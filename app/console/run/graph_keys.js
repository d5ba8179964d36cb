/** Arrow keys go from node to node: left and right along the lines, up and down within a layer. */

import { set } from "../dom.js";

/** `shown` has the lines as they are `placed` and the `boxes` of the nodes; `port` brings what is focused into view. */
export function arrows(svg, shown, port) {
  const ways = { ArrowLeft: left, ArrowRight: right, ArrowUp: above, ArrowDown: below, Home: first, End: last };
  svg.addEventListener("keydown", (event) => {
    const link = event.target.closest?.(".node");
    if (!link || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = link.dataset.node.replace(/\/run$/, "");
    const next = ways[event.key]?.(id);
    if (next === undefined) return;
    event.preventDefault();
    focus(next);
  });
  svg.addEventListener("focusin", (event) => rove(event.target.closest?.(".node")));

  function focus(id) {
    const link = svg.querySelector(`.node[data-node="${CSS.escape(id)}"]`);
    rove(link);
    link?.focus({ preventScroll: true });
    if (shown.boxes.has(id)) port.reveal(shown.boxes.get(id));
  }

  function rove(link) {
    if (!link || link.getAttribute("tabindex") === "0") return;
    for (const each of svg.querySelectorAll(".node[tabindex='0']")) set(each, { tabindex: -1 });
    set(link, { tabindex: 0 });
  }

  function left(id) {
    return nearest(id, ends(id, "to", "from"));
  }

  function right(id) {
    return nearest(id, ends(id, "from", "to"));
  }

  /** What is at the other end of the lines of a node; of a block, what is in it. */
  function ends(id, near, far) {
    const names = namesOf(id);
    const found = shown.placed.edges.filter((edge) => names.includes(edge[near])).map((edge) => edge[far]);
    return found.flatMap((name) => (shown.boxes.has(name) ? [name] : membersOf(name)));
  }

  function namesOf(id) {
    const block = [...shown.views.values()].find((view) => view.members?.includes(id));
    return block ? [block.id] : [id];
  }

  function membersOf(name) {
    return shown.views.get(name)?.members ?? [];
  }

  function above(id) {
    return neighbours(id).filter((each) => middle(each) < middle(id) - 1).at(-1);
  }

  function below(id) {
    return neighbours(id).find((each) => middle(each) > middle(id) + 1);
  }

  /** What stands in the same column, from top to bottom. */
  function neighbours(id) {
    const { layer, x } = shown.boxes.get(id) ?? {};
    const same = [...shown.boxes].filter(([, box]) => box.layer === layer && Math.abs(box.x - x) < box.width / 2);
    return same.map(([each]) => each).sort((a, b) => middle(a) - middle(b));
  }

  function nearest(id, others) {
    const distance = (each) => Math.abs(middle(each) - middle(id));
    return others.sort((a, b) => distance(a) - distance(b))[0];
  }

  function middle(id) {
    const { y, height } = shown.boxes.get(id);
    return y + height / 2;
  }

  function first() {
    return [...shown.boxes.keys()][0];
  }

  function last() {
    return [...shown.boxes.keys()].at(-1);
  }
}
