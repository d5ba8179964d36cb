/** The HTTP API, as the console uses it. The key is sent as a header alone, and is kept for as long as the tab. */

const KEY = "chargehand.key";
let inMemory = null;
let asking = null;
let askForKey = async () => null;

/** A request that was refused (RFC 9457); `code` is stable, `errors` says what about it, each with a pointer. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? `The service answered with ${status}.`);
    this.status = status;
    this.code = body?.code ?? "unreadable";
    this.errors = body?.errors ?? [];
    this.requestId = body?.request_id ?? null;
    this.body = body;
  }
}

/** The service did not answer. */
export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
    this.code = "unreachable";
  }
}

/** The key that requests are sent with; null for none. */
export function key() {
  if (inMemory === null) {
    try {
      inMemory = sessionStorage.getItem(KEY) ?? "";
    } catch {
      inMemory = "";
    }
  }
  return inMemory || null;
}

/** Use another key from here on; null forgets it. */
export function setKey(value) {
  inMemory = value ?? "";
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // A browser that stores nothing keeps it in memory.
  }
}

/** Who is asked when the service wants a key, or takes the one there is no more: `ask(problem)` gives one, or null. */
export function keysComeFrom(ask) {
  askForKey = ask;
}

/** The response to a request. Asks for a key where one is wanted. Throws `Problem` and `Unreachable`. */
export async function send(path, { method = "GET", body, headers = {}, signal, ask = true } = {}) {
  const sent = new Headers(headers);
  const used = key();
  if (used) sent.set("Authorization", `Bearer ${used}`);
  let content = body;
  if (body !== undefined && !(body instanceof FormData)) {
    sent.set("Content-Type", "application/json");
    content = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: content, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (response.ok || response.status === 304) return response;
  const problem = new Problem(response.status, await response.json().catch(() => null));
  if (response.status === 401 && ask && (await anotherKey(used, problem))) {
    return send(path, { method, body, headers, signal, ask });
  }
  throw problem;
}

async function anotherKey(used, problem) {
  if (key() !== used) return true; // Somebody has given one meanwhile.
  asking ??= askForKey(problem).finally(() => (asking = null));
  const given = await asking;
  if (given) setKey(given);
  return Boolean(given);
}

/** The JSON of an answer. */
export async function get(path, options = {}) {
  return (await send(path, options)).json();
}

/** What a change answers, as JSON; null where it answers nothing. */
export async function post(path, body = undefined, options = {}) {
  const response = await send(path, { method: "POST", body, ...options });
  return response.status === 204 ? null : response.json();
}

/** All items of a list, page by page, as an async iterator of pages. */
export async function* pages(path, options = {}) {
  for (let after = null; ; ) {
    const page = await get(after === null ? path : withQuery(path, { after }), options);
    yield page.data;
    if (!page.has_more) return;
    after = page.next_cursor;
  }
}

/** A path with more in its query; null and "" leave a parameter out. */
export function withQuery(path, parameters) {
  const [place, query = ""] = path.split("?");
  const all = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parameters)) {
    all.delete(name);
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "") all.append(name, each);
  }
  return all.size ? `${place}?${all}` : place;
}

/** A name for one intention of a person, so that it is carried out once however often it is sent. */
export function idempotencyKey() {
  // Not `randomUUID`: browsers have that only where the address is a secure one.
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return `console-${Array.from(parts, (each) => each.toString(16).padStart(8, "0")).join("")}`;
}

/** Hand a file of the API over as a download; it is fetched with the key, which no address holds. */
export async function download(path, name) {
  const url = URL.createObjectURL(await (await send(path)).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
