/**
 * Addresses. Every page, and whatever is selected on it, has one: `/console/runs/run_…?task=t1`. A page is a module
 * that exports `open({ root, params, query, signal, select })`, which gives `{ title, follow(query) }`; `signal` ends
 * with the page.
 */

import { fill, h } from "./dom.js";
import { entered, left, newEntry, scrollBack, watchScroll } from "./scroll.js";

const HOME = "/console";
let routes = [];
let shown = null;
let onShown = () => {};

/** Start: `table` has `[pattern, load]` where `:name` in a pattern stands for a part of the path. */
export function start(table, told) {
  routes = table.map(([pattern, load]) => ({ pattern: patternOf(pattern), load }));
  onShown = told;
  document.addEventListener("click", follow);
  window.addEventListener("popstate", back);
  watchScroll();
  return show();
}

/** Go to an address of the console. */
export function go(address, { replace = false } = {}) {
  left();
  if (replace) history.replaceState(history.state, "", address);
  else history.pushState(newEntry(), "", address);
  entered();
  return show();
}

/** The browser has gone back or forth. */
function back() {
  left();
  entered();
  return show({ isBack: true });
}

/** The address of this page with more in its query; null and "" take a parameter out. */
export function here(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "") query.append(name, each);
  }
  return query.size ? `${location.pathname}?${query}` : location.pathname;
}

/**
 * Select something on this page: its address changes, and what it said beside that stays. `replace` is for steps that
 * nobody would go back to.
 */
export function select(changes, { replace = false } = {}) {
  const address = here(changes);
  if (address !== location.pathname + location.search) go(address, { replace });
}

function patternOf(text) {
  return new RegExp(`^${text.replace(/:([a-z]+)/g, "(?<$1>[^/]+)")}$`);
}

function follow(event) {
  const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (event.defaultPrevented || event.button || modified) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.pathname !== HOME && !link.pathname.startsWith(`${HOME}/`)) return;
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

/** Show what the address says. A page begins at its top, or where it was left when one comes back to it. */
async function show({ isBack = false } = {}) {
  const path = location.pathname.slice(HOME.length).replace(/\/+$/, "") || "/";
  const query = new URLSearchParams(location.search);
  if (shown?.path === path && shown.page) {
    shown.page.follow?.(query);
    onShown(shown.page.title);
    if (isBack) scrollBack();
    return;
  }
  const isFirst = shown === null;
  shown?.ended.abort();
  const ended = new AbortController();
  const place = { path, ended, page: null };
  shown = place;
  const root = document.getElementById("page");
  const found = routes.map(({ pattern, load }) => ({ match: pattern.exec(path), load })).find(({ match }) => match);
  try {
    if (!found) throw new Error("There is no page at this address.");
    const module = await found.load();
    if (shown !== place) return;
    const inside = h("div", { class: "page" });
    fill(root, inside);
    if (!isFirst) scrollTo({ top: 0, behavior: "instant" });
    const params = { ...found.match.groups };
    place.page = await module.open({ root: inside, params, query, signal: ended.signal, select });
    if (shown !== place) return;
    onShown(place.page.title);
    if (!isFirst) enter(root);
    if (isFirst || isBack) scrollBack();
  } catch (error) {
    if (shown !== place || ended.signal.aborted) return;
    const retry = found && error.status !== 404 ? () => again(error) : null;
    fill(root, h("div", { class: "page narrow" }, h("h1", {}, "This page cannot be shown"), failure(error, retry)));
    onShown("Not shown");
    if (!isFirst) enter(root);
  }
}

/** Open the page once more. A module that could not be loaded is loaded again by a new document alone. */
function again(error) {
  return error.code ? show() : location.reload();
}

/** Another page is there: go on from its title, unless somebody is at something already. */
function enter(root) {
  const at = document.activeElement;
  if (at?.closest("dialog") || (root.contains(at) && at !== root)) return;
  const title = root.querySelector("h1") ?? root;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

/** What went wrong, for people: the service's own words and code, and its request id for whoever looks into the log. */
export function failure(error, retry = null) {
  return h("div", { class: "failure", role: "alert" },
    h("p", {}, error.message),
    (error.errors ?? []).map(({ pointer, parameter, detail }) =>
      h("p", {}, h("code", {}, pointer ?? parameter ?? ""), " ", detail)),
    h("p", { class: "quiet" }, error.code ?? "", error.requestId ? ` · request ${error.requestId}` : ""),
    retry && h("button", { on: { click: retry } }, "Try again"));
}
