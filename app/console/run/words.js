/** What the codes of the API say, for people. One that is not known here is shown as it is, with spaces. */

const REASONS = {
  dependency_failed: "a task that it depends on delivered nothing",
    max_steps: "the worker was not done after as many replies as it may give",
  timeout: "it had no time left", output_truncated: "the reply broke off at the longest that the model can write",
  output_invalid: "what the worker handed in does not have the form that was asked for",
    result_rejected: "the result was checked and turned down",
  no_progress: "the worker repeated itself and came no further",
    tool_call_invalid: "the worker kept calling its tools in a way they do not take",
  model_refusal: "the model declined to do it", context_exceeded: "the conversation is longer than the model can read",
  provider_stream_incomplete: "the provider's reply broke off",
    provider_unavailable: "the provider is overloaded, failing or out of reach",
  rate_limited: "the provider asks for fewer requests", budget_exceeded: "the tokens or the money were spent",
  breaker_open: "what it needs has failed so often that it is left alone for a while",
    attempts_exhausted: "every attempt that it may have has failed",
  result_too_large: "the result is larger than can be kept", internal_error: "a fault of this service",
    excluded: "its result was left out when the answer was made anew",
  request_rejected: "the provider will never accept the request", provider_auth: "the provider does not accept the key",
  provider_billing: "the account at the provider cannot pay", cancelled: "it was stopped before it was done",
};
const METHODS = {
  evidence: "by the evidence, as the supervisor sees it", majority: "by a majority",
    judge: "by a judge who did not know whose the claims are",
  tie_break: "by another task that broke the tie", human: "by a person who was asked",
};
const STRATEGIES = { merge: "all results merged", select: "the best result chosen",
  reduce: "results put together group by group" };
const VERDICTS = { accepted: "accepted by a critic", needs_revision: "not accepted by a critic",
  none: "looked at by a critic, without a verdict" };
const LOOKS = { confirmed: "confirmed", corrected: "corrected", refuted: "refuted", unverified: "not verified" };
const LEFT_OUT = {
  below_threshold: "the worker is not sure enough", not_at_location: "it does not stand at the place that it names",
  refuted: "a second look has refuted it", duplicate: "it is the same as another",
};

/** Why a task delivered nothing. */
export const reasonOf = (code) => said(REASONS, code);
/** How a conflict was settled. */
export const methodOf = (code) => said(METHODS, code);
/** How results became the answer. */
export const strategyOf = (code) => said(STRATEGIES, code);
/** What the critic decided. */
export const verdictOf = (code) => said(VERDICTS, code);
/** What a second look at a finding has come to. */
export const lookOf = (code) => said(LOOKS, code);
/** Why a finding is left out. */
export const leftOutFor = (code) => said(LEFT_OUT, code);

/** A part of 1 in words: `82 %`. */
export function percent(part) {
  return part === null || part === undefined ? "–" : `${Math.round(part * 100)} %`;
}

function said(words, code) {
  return words[code] ?? String(code).replaceAll("_", " ");
}
