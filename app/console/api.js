/** The HTTP API, as the console uses it. The key is sent as a header alone, and is kept for as long as the tab. */

const KEY = "chargehand.key";
const LIMIT_MS = 30_000;
const FILES_LIMIT_MS = 300_000;
const keys = new EventTarget();
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
  constructor(message = "The service cannot be reached.") {
    super(message);
    this.code = "unreachable";
  }
}

/** The service has not answered in time: nobody knows whether what was asked for has been done. */
export class Unanswered extends Unreachable {
  constructor(limit, isChange) {
    const maybe = " It may have been carried out all the same: look before you send it again.";
    super(`No answer has come within ${limit / 1000} seconds.${isChange ? maybe : ""}`);
    this.code = "unanswered";
  }
}

/** Whether the request itself is at fault, so that the same one would be refused again. */
export function isRefusal(error) {
  return error instanceof Problem && error.status < 500 && error.status !== 429;
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
  keys.dispatchEvent(new Event("set"));
}

/** Have `told` called whenever another key is set or the key is forgotten, until the signal. */
export function onKey(told, signal = undefined) {
  keys.addEventListener("set", told, { signal });
}

/** What is wrong with a key that no header can carry; null when nothing is. */
export function flawOf(text) {
  const odd = /[^\x21-\x7e]/u.exec(text)?.[0];
  if (odd === undefined) return null;
  const name = /\s/u.test(odd) ? "a space or a line break" : `“${odd}”`;
  return `There is ${name} in this key, which no key has. Copy it once more.`;
}

/** Who is asked when the service wants a key, or takes the one there is no more: `ask(problem)` gives one, or null. */
export function keysComeFrom(ask) {
  askForKey = ask;
}

/**
 * The response to a request, read as a whole within `limit` milliseconds; with `null` as it comes, however long that
 * takes. Asks for a key where one is wanted. Throws `Problem`, `Unreachable` and `Unanswered`.
 */
export async function send(path, options = {}) {
  const { ask = true } = options;
  const used = key();
  const flaw = flawOf(used ?? "");
  const response = flaw ? null : await answered(path, used, options);
  if (response?.ok || response?.status === 304) return response;
  const problem = response
    ? new Problem(response.status, await response.json().catch(() => null))
    : new Problem(401, { code: "key_invalid", detail: flaw });
  if (problem.status === 401 && ask && (await anotherKey(used, problem))) return send(path, options);
  throw problem;
}

async function answered(path, used, { method = "GET", body, headers = {}, signal, limit = limitFor(body) }) {
  const sent = new Headers(headers);
  if (used) sent.set("Authorization", `Bearer ${used}`);
  const asJson = body !== undefined && !(body instanceof FormData);
  if (asJson) sent.set("Content-Type", "application/json");
  const late = new AbortController();
  const timer = limit && setTimeout(() => late.abort(new Unanswered(limit, method !== "GET")), limit);
  try {
    const response = await fetch(path, {
      method, headers: sent, body: asJson ? JSON.stringify(body) : body, credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    });
    return limit ? await whole(response) : response;
  } catch (error) {
    if (late.signal.aborted) throw late.signal.reason;
    if (signal?.aborted || error.name === "AbortError") throw error;
    throw new Unreachable();
  } finally {
    clearTimeout(timer);
  }
}

/** Files take their time on their way to the service. */
function limitFor(body) {
  return body instanceof FormData ? FILES_LIMIT_MS : LIMIT_MS;
}

/** The response once all of it is there. */
async function whole(response) {
  const { status, statusText, headers } = response;
  const content = await response.arrayBuffer();
  return new Response(content.byteLength ? content : null, { status, statusText, headers });
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
  const url = URL.createObjectURL(await (await send(path, { limit: null })).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
