/** A draft as the service takes it: as JSON, or as a form where an input is no text; and as a line for a terminal. */

import { key } from "../api.js";
import { mediaTypeOf } from "./contents.js";

const PLAIN = ["approval", "on_question", "strategy", "planning", "rubric"];
const COUNTS = ["tasks", "concurrency", "timeout_s", "attempts", "tokens", "rounds", "depth"];

/** What of a draft cannot be sent; `errors` are as those of the service, each with its pointer. */
export class Unsendable extends Error {
  constructor(errors) {
    super("The job cannot be sent as it stands.");
    this.code = "";
    this.errors = errors;
  }
}

/** The job without its inputs. Throws `Unsendable`. */
export function jobOf(draft) {
  const errors = [];
  const json = (name) => {
    try {
      return JSON.parse(draft[name]);
    } catch (error) {
      errors.push({ pointer: `/${name}`, detail: `This is no JSON: ${error.message}` });
      return undefined;
    }
  };
  const job = { objective: draft.objective };
  if (draft.team) job.team = draft.team;
  const limits = limitsOf(draft.limits);
  if (Object.keys(limits).length) job.limits = limits;
  for (const name of PLAIN) if (draft[name]) job[name] = draft[name];
  for (const name of ["output_schema", "plan"]) if (draft[name].trim()) job[name] = json(name);
  if (draft.priority !== "") job.priority = numberOr(draft.priority);
  const { url, secret } = draft.webhook;
  if (url) job.webhook = secret ? { url, secret } : { url };
  const labels = draft.metadata.filter((label) => label.key);
  if (labels.length) job.metadata = Object.fromEntries(labels.map((label) => [label.key, label.value]));
  draft.inputs.forEach(({ lost }, place) => {
    if (lost) errors.push({ pointer: `/inputs/${place}/content`, detail: "Give this file again." });
  });
  if (errors.length) throw new Unsendable(errors);
  return job;
}

/** The body of the request: JSON, or a form. `more` is what it has beside the draft. Throws `Unsendable`. */
export function bodyOf(draft, more = {}) {
  const job = { ...jobOf(draft), ...more };
  if (job.plan) delete job.planning;
  if (!draft.inputs.some((input) => input.bytes)) {
    return draft.inputs.length ? { ...job, inputs: draft.inputs.map(inJson) } : job;
  }
  const form = new FormData();
  form.append("job", new Blob([JSON.stringify(job)], { type: "application/json" }));
  for (const { name, mediaType, text, bytes } of draft.inputs) {
    form.append("inputs", new Blob([bytes ?? text], { type: mediaType ?? "" }), name);
  }
  return form;
}

/** A command that posts the job. Files are named as if they lay in the folder that it is called in. */
export function curlOf(draft, origin) {
  const job = jobOf(draft);
  const lines = [`curl -s ${quoted(`${origin}/v1/jobs`)}`];
  if (key()) lines.push('-H "Authorization: Bearer $CHARGEHAND_API_KEY"');
  if (draft.inputs.some((input) => input.bytes)) {
    lines.push(`-F ${quoted(`job=${JSON.stringify(job)};type=application/json`)}`);
    for (const { name } of draft.inputs) lines.push(`-F ${quoted(`inputs=@${name};filename=${name}`)}`);
  } else {
    const body = draft.inputs.length ? { ...job, inputs: draft.inputs.map(inJson) } : job;
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  }
  return lines.join(" \\\n  ");
}

function inJson({ name, mediaType, text }) {
  return { name, media_type: mediaType ?? mediaTypeOf(name), content: text };
}

function limitsOf(limits) {
  const given = Object.entries(limits).filter(([, value]) => value !== "" && value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, COUNTS.includes(name) ? numberOr(value) : value]));
}

/** The number that a field holds; else what stands there, for the service to refuse. */
function numberOr(text) {
  return Number.isFinite(Number(text)) && String(text).trim() !== "" ? Number(text) : text;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
