/** Sending an edit of a plan, in the revision that was read and in no other. */

import { post, send } from "../api.js";
import { Written } from "../written.js";

/** Save an edit; gives the plan that there is then. */
export async function save(runId, revision, changes) {
  const response = await send(`/v1/runs/${runId}/plan`, { method: "PATCH", body: changes, headers: meaning(revision) });
  return response.json();
}

/** Approve a plan in this revision; gives the run. */
export function approve(runId, revision) {
  return post(`/v1/runs/${runId}/plan/approve`, undefined, { headers: meaning(revision) });
}

/** Headers that name the revision that is meant. */
export function meaning(revision) {
  return { "If-Match": `"${revision}"` };
}

/** The edit of a run's plan that is not saved yet: `{revision, draft, reason}`, with the revision that it is about. */
export function unsavedEdit(runId) {
  return new Written(`plan/${runId}`);
}
