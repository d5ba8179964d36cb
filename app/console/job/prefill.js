/** What a form begins with: what its address says, an example, or the job of an earlier run. */

import { get, send } from "../api.js";
import { inputOf } from "./contents.js";
import { emptyDraft } from "./draft.js";
import { EXAMPLES } from "./examples.js";

const SIMPLE = ["objective", "team", "approval", "on_question", "strategy", "planning", "rubric", "priority"];

/** The draft that an address asks for: `?team=…&objective=…`, `?example=…`, `?from=run_…`. */
export async function draftFor(query, signal) {
  if (query.get("from")) return fromRun(query.get("from"), signal);
  const draft = emptyDraft();
  const example = EXAMPLES.find(({ name }) => name === query.get("example"));
  if (example) return { ...draft, ...structuredClone(example.job) };
  for (const name of SIMPLE) if (query.get(name)) draft[name] = query.get(name);
  return draft;
}

/** The job of a run, as its first event tells it, with its inputs. */
async function fromRun(id, signal) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  const [run, { data: [{ data: job }] }, { data: inputs }] = await Promise.all([
    get(path, { signal }),
    get(`${path}/events?types=run.queued&limit=1`, { signal }),
    get(`${path}/inputs`, { signal }),
  ]);
  const { name, version } = run.team;
  const [team, newest] = await Promise.all(
    [`${name}@${version}`, name].map((each) => get(`/v1/teams/${each}`, { signal }).catch(() => null)),
  );
  const asText = (value) => (value ? JSON.stringify(value, null, 2) : "");
  return {
    ...emptyDraft(),
    objective: job.objective,
    team: newest?.version === version ? name : `${name}@${version}`,
    inputs: await Promise.all(inputs.map((input) => contentOf(input, signal))),
    limits: differing(job.limits, team?.limits),
    approval: job.limits.approval ?? "",
    on_question: job.on_question === "ask" ? "" : job.on_question ?? "",
    strategy: job.strategy ?? "",
    planning: job.planning ?? "",
    output_schema: asText(job.output_schema),
    rubric: job.rubric ?? "",
    metadata: Object.entries(run.metadata).map(([key, value]) => ({ key, value: String(value) })),
    plan: job.plan_source === "client" ? asText(writtenPlan(job.plan)) : "",
  };
}

async function contentOf({ name, media_type: mediaType, url }, signal) {
  return inputOf(await (await send(url, { signal, limit: null })).blob(), name, mediaType);
}

/** The limits that are not those of the team. */
function differing({ dry_run: _, approval: __, ...limits }, usual) {
  const others = Object.entries(limits).filter(([name, value]) => value !== null && value !== usual?.[name]);
  return Object.fromEntries(others.map(([name, value]) => [name, String(value)]));
}

/** A plan as a client writes it: without what the service has found out about it. */
export function writtenPlan({ goal, strategy, final_instruction, tasks, workers }) {
  const plan = { goal, strategy, final_instruction, tasks };
  return workers?.length ? { ...plan, workers } : plan;
}
