/** Tables, the way all pages have them: in a region that scrolls sideways by itself, and by keyboard. */

import { h } from "./dom.js";

/**
 * A table that `label` names. `columns` are names, or `{name, number: true}` for a column of figures; `rows` and `foot`
 * are lists of cells, each a node, a text or a list of them, of which the first heads its row. `props` are the table's.
 */
export function tableOf(label, columns, rows, { foot = [], props = {}, rowProps = () => ({}) } = {}) {
  const kinds = columns.map((column) => (typeof column === "string" ? { name: column } : column));
  const cells = (row) => row.map((cell, at) => {
    const type = kinds[at]?.number ? "number" : null;
    return at ? h("td", { class: type }, cell) : h("th", { scope: "row", class: type }, cell);
  });
  const heads = kinds.map(({ name, number }) => headOf(name, number ? "number" : null));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", props,
    h("thead", {}, h("tr", {}, heads)),
    h("tbody", {}, rows.map((row, at) => h("tr", rowProps(at), cells(row)))),
    foot.length > 0 && h("tfoot", {}, h("tr", {}, cells(foot)))));
}

function headOf(name, type) {
  return name ? h("th", { scope: "col", class: type }, name) : h("td");
}
