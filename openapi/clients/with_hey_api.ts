// A job with the client that @hey-api/openapi-ts generates.
import assert from "node:assert/strict";
import { client } from "./hey/client.gen.js";
import { acceptJob, getRun, getTrace, listOrFollowEvents } from "./hey/index.js";

client.setConfig({ baseUrl: process.argv[2] ?? "" });

const posted = await acceptJob({
  headers: { "Idempotency-Key": "hey-1", Prefer: "wait=50" },
  body: { objective: "What is 17.5% of 2480? Show the calculation.", limits: { timeout_s: 60 } },
});
assert(posted.data);
const path = { run_id: posted.data.id };

const run = await getRun({ path, headers: { Prefer: "wait=50" } });
assert(run.data?.result);
assert(["succeeded", "partial"].includes(run.data.status));

const trace = await getTrace({ path });
const first = trace.data?.events[0];
assert(first?.type === "run.queued");
assert.equal(first.data.objective, posted.data.objective);

const page = await listOrFollowEvents({ path, query: { limit: 2 } });
assert(page.data && typeof page.data === "object");
assert.equal(page.data.data.length, 2);

const refused = await getRun({ path: { run_id: "run_0" } });
assert.equal(refused.error?.code, "run_not_found");
console.log(`@hey-api/openapi-ts: ${run.data.status}, ${trace.data?.events.length} events`);
