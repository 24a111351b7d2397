/**
 * The log line of an attempt, `delivery.attempted` (docs/requests.md#log-lines). Endpoints are
 * named by their keys and by place and host, since a path may be secret. The line has no payload and no user id.
 *
 *   the attempt                                     level
 *   a request timed out or met a bad certificate    error
 *   else, accepted                                  info
 *   else                                            warn
 *
 * Of accepted ones a share can be left out. All others are written.
 */

import type { DeadLetterReason } from "../domain/dead-letter.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { delayName } from "../domain/topics.ts";
import type { EndpointResult } from "./decide.ts";
import type { Output } from "./output.ts";
import type { Attempted } from "./work-ports.ts";

type RetryScheduled = Extract<Output, { readonly kind: "retry" }>;

export function levelOf({ results, decision }: Attempted): "info" | "warn" | "error" {
  if (results.some(isAlarming)) return "error";
  return decision.name === "accepted" ? "info" : "warn";
}

function isAlarming({ result }: EndpointResult): boolean {
  if (result.kind !== "no-response") return false;
  // Somebody has to do something about certificates.
  return result.cause === "timeout" || result.cause.startsWith("tls");
}

/** @param names of the endpoints that are configured. */
export function attemptFields(
  { delivery, results, decision }: Attempted,
  names: ReadonlyMap<EndpointKey, string>,
) {
  const [output] = decision.outputs;
  return {
    stage: "deliver",
    destination: delivery.destination,
    source: delivery.source,
    messageId: delivery.messageId,
    attempt: delivery.attempt + 1,
    decision: decision.name,
    requests: results.map((each) => requestFields(each, names.get(each.endpoint) ?? each.endpoint)),
    ...(output?.kind === "retry" ? nextFields(output) : {}),
  };
}

/** Nothing that JSON or a terminal reads as anything else. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * The fields of an accepted attempt, as `Log.infoText` takes them. Null where it made more than one
 * request, or where an id is not plain: then `attemptFields` has them.
 */
export function acceptedText(
  { delivery, results, decision }: Attempted,
  names: ReadonlyMap<EndpointKey, string>,
): string | null {
  const [only] = results;
  if (decision.name !== "accepted" || results.length > 1 || only === undefined) return null;
  const { endpoint, result } = only;
  if (result.kind !== "response") return null;
  const { destination, source, messageId, attempt } = delivery;
  const name = names.get(endpoint) ?? endpoint;
  if (!PLAIN.test(messageId) || !PLAIN.test(source) || !PLAIN.test(name)) return null;
  return (
    `"stage":"deliver","destination":"${destination}","source":"${source}","messageId":"${messageId}",` +
    `"attempt":${attempt + 1},"decision":"accepted","requests":[{"endpointId":"${endpoint}",` +
    `"endpointName":"${name}","status":${result.status},"durationMs":${Math.round(result.durationMs)}}]`
  );
}

function nextFields({ delayMs, delivery: { notBeforeMs, dueAtMs } }: RetryScheduled) {
  const retryAtMs = notBeforeMs ?? dueAtMs;
  return {
    retryDelay: delayName(delayMs),
    retryInMs: delayMs,
    ...(retryAtMs === null ? {} : { retryAt: new Date(retryAtMs).toISOString() }),
  };
}

function requestFields({ endpoint, result }: EndpointResult, endpointName: string) {
  const named = { endpointId: endpoint, endpointName };
  if (result.kind === "skipped") return { ...named, cause: "skipped", durationMs: 0 };
  const durationMs = Math.round(result.durationMs);
  return result.kind === "response"
    ? { ...named, status: result.status, durationMs }
    : { ...named, cause: result.cause, durationMs };
}

const UNUSABLE: readonly DeadLetterReason[] = ["undecodable", "unknown-schema", "invalid-call"];

/** Reasons that lie in the record rather than in its delivery. */
export function isUnusable(reason: DeadLetterReason): boolean {
  return UNUSABLE.includes(reason);
}

/** Says of each accepted attempt whether it is logged: evenly, so many of them. @param share 0 to 1. */
export function sampling(share: number): () => boolean {
  let due = 0;
  return () => {
    due += share;
    // Sums of hundredths fall short of 1 by a little.
    if (due < 1 - 1e-9) return false;
    due -= 1;
    return true;
  };
}
