// A job with the types of openapi-typescript, as its documentation shows it.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./types.js";

type Event = components["schemas"]["Event"];

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

const posted = await client.POST("/v1/jobs", {
  params: { header: { "Idempotency-Key": "typescript-1", Prefer: "wait=50" } },
  body: { objective: "What is 17.5% of 2480? Show the calculation.", metadata: { ticket: "T-1" } },
});
assert(posted.data);
const path = { run_id: posted.data.id };

const run = await client.GET("/v1/runs/{run_id}", { params: { path, header: { Prefer: "wait=50" } } });
assert(run.data?.result);
assert(["succeeded", "partial"].includes(run.data.status));

const trace = await client.GET("/v1/runs/{run_id}/trace", { params: { path } });
assert(trace.data);
const said = (event: Event): string => {
  switch (event.type) {
    case "run.queued":
      return event.data.objective;
    case "run.succeeded":
    case "run.partial":
      return event.data.stop_reason;
    default:
      return event.type;
  }
};
assert.equal(said(trace.data.events[0]!), posted.data.objective);
assert.equal(said(trace.data.events.at(-1)!), run.data.stop_reason);

const refused = await client.GET("/v1/runs/{run_id}", { params: { path: { run_id: "run_0" } } });
assert.equal(refused.error?.code, "run_not_found");
console.log(`openapi-typescript: ${run.data.status}, ${trace.data.events.length} events`);
