/**
 * Following a run: its events in order, each once, over as many connections as it takes. `EventSource` cannot send a
 * key, so this reads the stream itself (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 */

import { isRefusal, send } from "./api.js";
import { seen, untilUnseen } from "./presence.js";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const SILENCE_MS = 45_000;

/** Reads frames out of chunks, wherever they are cut; `push(text)` gives those that are complete. */
export class FrameReader {
  #rest = "";

  push(text) {
    const all = this.#rest + text;
    // A chunk may be cut between the two characters of a line end.
    const known = all.endsWith("\r") ? all.length - 1 : all.length;
    const parts = all.slice(0, known).replace(/\r\n?/g, "\n").split("\n\n");
    this.#rest = parts.pop() + all.slice(known);
    return parts.map(frameOf).filter((frame) => frame.data !== null);
  }
}

function frameOf(text) {
  const frame = { id: null, event: "message", data: null };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0 || line === "") continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") frame.data = frame.data === null ? value : `${frame.data}\n${value}`;
    else if (name === "id" || name === "event") frame[name] = value;
  }
  return frame;
}

/**
 * Follow a run until it has ended or the signal says so.
 *
 * `onEvents(events)` gets events in the order of `seq`, without gap or double; `onDeltas(deltas)` text that is being
 * written, which a later event supersedes; `onState(state, problem)` is told `live`, `away` while the stream is broken,
 * and at last `ended` or `refused`. While nobody sees the page there is no stream, and nothing is told. Returns the
 * number of the last event.
 */
export async function follow(runId, { after = 0, onEvents, onDeltas = () => {}, onState = () => {}, signal }) {
  let last = after;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    await seen();
    const over = AbortSignal.any([signal, untilUnseen()]);
    try {
      const response = await opened(runId, last, over);
      if (response.status === 204) {
        onState("ended");
        return last;
      }
      onState("live");
      const before = last;
      for await (const frames of framesOf(response, over)) {
        const { events, deltas } = sorted(frames, last);
        if (deltas.length) onDeltas(deltas);
        if (!events.length) continue;
        last = events.at(-1).seq;
        pause = FIRST_PAUSE_MS;
        onEvents(events);
      }
      // A stream that has told something new is asked for once more: after the end of the run nothing is left (204).
      if (last > before || over.aborted) continue;
    } catch (error) {
      if (over.aborted) continue;
      if (isRefusal(error)) {
        onState("refused", error);
        return last;
      }
      onState("away", error);
    }
    await waited(pause, over);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
  return last;
}

function opened(runId, after, signal) {
  const headers = { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": String(after) } : {}) };
  return send(`/v1/runs/${runId}/events?deltas=true`, { headers, signal, limit: null });
}

async function* framesOf(response, signal) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const frames = new FrameReader();
  try {
    while (!signal.aborted) {
      const { done, value } = await spoken(reader);
      if (done) return;
      yield frames.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The next chunk; throws when the service says nothing for longer than its heartbeats are apart. */
async function spoken(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("The stream has gone silent.")), SILENCE_MS);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

function sorted(frames, last) {
  const events = [];
  const deltas = [];
  for (const frame of frames) {
    const data = JSON.parse(frame.data);
    if (frame.event === "text.delta") deltas.push(data);
    else if (data.seq > last) {
      last = data.seq;
      events.push(data);
    }
  }
  return { events, deltas };
}

function waited(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      window.removeEventListener("online", done);
      resolve();
    }
    signal.addEventListener("abort", done);
    window.addEventListener("online", done);
  });
}
