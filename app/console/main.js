/** The console: what all pages share, and which page is at which address. */

import { key, keysComeFrom, onKey, setKey } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { askForKey } from "./key_dialog.js";
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
const LINKS = [
  ["New job", "/console/new"],
  ["Runs", "/console/runs"],
  ["Teams", "/console/teams"],
  ["Breakers", "/console/breakers"],
  ["Usage", "/console/usage"],
];

const forget = h("button", { class: "plain", hidden: true, on: { click: forgetKey } }, "Forget the key");

function offerToForget() {
  forget.hidden = !key();
}

/** Leave nothing behind: neither the key, nor what was typed with it. */
function forgetKey() {
  setKey(null);
  try {
    sessionStorage.clear();
  } catch {
    // A browser that stores nothing has nothing to forget.
  }
  location.reload();
}

function shown(title) {
  document.title = title ? `${title} · Chargehand` : "Chargehand";
  offerToForget();
  for (const link of document.querySelectorAll(".bar nav a")) {
    const here = location.pathname === link.pathname || location.pathname.startsWith(`${link.pathname}/`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** What nobody has caught is told at least. */
function tell({ reason }) {
  if (reason?.name !== "AbortError") announce(reason?.message ?? "Something went wrong.");
}

keysComeFrom(askForKey);
onKey(offerToForget);
fill(document.querySelector(".bar nav"), ...LINKS.map(([text, href]) => h("a", { href }, text)), forget);
window.addEventListener("unhandledrejection", tell);
start(PAGES, shown);
