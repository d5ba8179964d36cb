/** A job once more, as a command for a shell. The key stands in it by the name of its variable alone. */

import { key } from "../api.js";

const OF_JOB = ["planning", "strategy", "on_question", "output_schema", "rubric"];

/** The command that posts the job of a run again, with its inputs as files by their names. */
export function curlOf(run, queued, origin = location.origin) {
  const inputs = queued?.inputs ?? [];
  const job = JSON.stringify(jobOf(run, queued), null, 2);
  const url = `${origin}/v1/jobs`;
  const lines = [`curl -sS ${quoted(url)}`];
  if (key()) lines.push(`-H "Authorization: Bearer $CHARGEHAND_API_KEY"`);
  if (inputs.length) {
    lines.push(`--form-string ${quoted(`job=${job}`)}`);
    for (const { name, media_type } of inputs) {
      lines.push(`-F ${quoted(`inputs=@"${name.replace(/["\\]/g, "\\$&")}";type=${media_type}`)}`);
    }
  } else lines.push("-H 'Content-Type: application/json'", `-d ${quoted(job)}`);
  return lines.join(" \\\n  ");
}

function jobOf(run, queued) {
  const { approval, dry_run, ...limits } = run.limits;
  const job = { objective: run.objective, team: `${run.team.name}@${run.team.version}` };
  job.limits = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
  if (approval) job.approval = approval;
  for (const name of OF_JOB) if (queued?.[name] !== null && queued?.[name] !== undefined) job[name] = queued[name];
  if (queued?.plan && queued.plan_source === "client") job.plan = planOf(queued.plan);
  if (Object.keys(run.metadata).length) job.metadata = run.metadata;
  return job;
}

/** A plan as one would write it: without what the service found out about it. */
function planOf({ goal, strategy, final_instruction, tasks, workers }) {
  return { goal, strategy, final_instruction, tasks, ...(workers?.length ? { workers } : {}) };
}

/** Text as one word for a shell. */
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
