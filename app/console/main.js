/** The console: what all pages share, and which page is at which address. */

import { keysComeFrom, key, setKey } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { start } from "./router.js";

const PAGES = [
  ["/", () => import("./pages/home.js")],
  ["/new", () => import("./pages/new_job.js")],
  ["/runs", () => import("./pages/runs.js")],
  ["/runs/:run", () => import("./pages/run.js")],
  ["/teams", () => import("./pages/teams.js")],
  ["/teams/:team", () => import("./pages/team.js")],
  ["/tools", () => import("./pages/tools.js")],
  ["/breakers", () => import("./pages/breakers.js")],
  ["/usage", () => import("./pages/usage.js")],
];
const LINKS = [["New job", "/console/new"], ["Runs", "/console/runs"], ["Teams", "/console/teams"], ["Breakers", "/console/breakers"], ["Usage", "/console/usage"]];

const forget = h("button", { class: "plain", hidden: true, on: { click: () => { setKey(null); location.reload(); } } }, "Forget the key");

function shown(title) {
  document.title = title ? `${title} · Chargehand` : "Chargehand";
  forget.hidden = !key();
  for (const link of document.querySelectorAll(".bar nav a")) {
    const here = location.pathname === link.pathname || location.pathname.startsWith(`${link.pathname}/`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Ask for a key in a dialog; null when the person would rather not. */
function askedKey(problem) {
  return new Promise((resolve) => {
    const input = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-why", id: "key" });
    const dialog = h("dialog", { "aria-labelledby": "key-title" },
      h("form", { method: "dialog", on: { submit: () => { given = input.value.trim(); } } },
        h("h2", { id: "key-title" }, "A key, please"),
        h("p", { id: "key-why" }, problem.code === "key_missing" ? "This service wants a key of its API. It is kept for as long as this tab is open, and sent as a header alone." : problem.message),
        h("label", { for: "key" }, "Key"), input,
        h("div", { class: "actions" }, h("button", { class: "main" }, "Use it"), h("button", { type: "button", on: { click: () => dialog.close() } }, "Not now"))));
    let given = null;
    dialog.addEventListener("close", () => { dialog.remove(); resolve(given || null); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

keysComeFrom(askedKey);
fill(document.querySelector("header nav"), ...LINKS.map(([text, href]) => h("a", { href }, text)), forget);
window.addEventListener("unhandledrejection", ({ reason }) => reason?.name === "AbortError" || announce(reason?.message ?? "Something went wrong."));
start(PAGES, shown);
