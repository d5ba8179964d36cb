/** Sending an edit of a plan, in the revision that was read and in no other. */

import { post, send } from "../api.js";

/** The revision that there is then, and the run when it was approved as well: `{revision, run}`. */
export async function saved(runId, revision, changes, approve) {
  const response = await send(`/v1/runs/${runId}/plan`, { method: "PATCH", body: changes, headers: meaning(revision) });
  const plan = await response.json();
  if (!approve) return { revision: plan.revision, run: null };
  const run = await post(`/v1/runs/${runId}/plan/approve`, undefined, { headers: meaning(plan.revision) });
  return { revision: plan.revision, run };
}

/** Headers that name the revision that is meant. */
export function meaning(revision) {
  return { "If-Match": `"${revision}"` };
}
