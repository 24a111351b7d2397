/**
 * The log line of an attempt, `delivery.attempted` (docs/retries.md#log-lines). Endpoints are named by their IDs, positions
 * and hosts, because a path may be secret. The line contains no payload and no user ID.
 *
 *   the attempt                                              level
 *   a request timed out or found an invalid certificate      error
 *   any other attempt that was accepted                      info
 *   any other attempt                                        warn
 *
 * With `log.attempts`, only a share of the accepted attempts is logged. All other attempts are always logged.
 */

import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import { type EndpointNames, nameOf } from "../../domain/endpoint-name.ts";
import { delayName } from "../../domain/topics.ts";
import type { Attempted } from "./attempt.ts";
import type { EndpointResult, Output } from "./decide.ts";

type RetryScheduled = Extract<Output, { readonly kind: "retry" }>;

export function levelOf({ results, decision }: Attempted): "info" | "warn" | "error" {
  if (results.some(isAlarming)) return "error";
  return decision.name === "accepted" ? "info" : "warn";
}

function isAlarming({ result }: EndpointResult): boolean {
  if (result.kind !== "no-response") return false;
  // Certificate errors last until an operator fixes the certificate.
  return result.cause === "timeout" || result.cause.startsWith("tls");
}

export function attemptFields({ delivery, results, decision, names, batch }: Attempted) {
  const [output] = decision.outputs;
  return {
    stage: "deliver",
    destination: delivery.destination,
    source: delivery.source,
    messageId: delivery.messageId,
    attempt: delivery.attempt + 1,
    decision: decision.name,
    requests: results.map((each) => requestFields(each, names)),
    ...(batch === null ? {} : { batchId: batch.id, batchCalls: batch.calls }),
    ...(output?.kind === "retry" ? nextFields(output) : {}),
  };
}

/** Matches strings in which no character needs an escape in JSON or on a terminal. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * The fields of an accepted attempt for `Log.infoText`. Null if the attempt made more than one request, or if an ID
 * contains characters outside `PLAIN`; use `attemptFields` then.
 */
export function acceptedText({
  delivery,
  results,
  decision,
  names,
  batch,
}: Attempted): string | null {
  const [only] = results;
  if (decision.name !== "accepted" || results.length > 1 || only === undefined) return null;
  const { endpoint, result } = only;
  if (result.kind !== "response") return null;
  const { destination, source, messageId, attempt } = delivery;
  const { id, name } = nameOf(endpoint, names);
  if (!PLAIN.test(messageId) || !PLAIN.test(source) || !PLAIN.test(name)) return null;
  return (
    `"stage":"deliver","destination":"${destination}","source":"${source}","messageId":"${messageId}",` +
    `"attempt":${attempt + 1},"decision":"accepted","requests":[{"endpointId":"${id}",` +
    `"endpointName":"${name}","status":${result.status},"durationMs":${Math.round(result.durationMs)}}]` +
    (batch === null ? "" : `,"batchId":"${batch.id}","batchCalls":${batch.calls}`)
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

function requestFields({ endpoint, result }: EndpointResult, names: EndpointNames) {
  const { id, name } = nameOf(endpoint, names);
  const named = { endpointId: id, endpointName: name };
  if (result.kind === "skipped") return { ...named, cause: "skipped", durationMs: 0 };
  const durationMs = Math.round(result.durationMs);
  return result.kind === "response"
    ? { ...named, status: result.status, durationMs }
    : { ...named, cause: result.cause, durationMs };
}

const UNUSABLE: readonly DeadLetterReason[] = ["undecodable", "unknown-schema", "invalid-call"];

/** Returns true for reasons that concern the record rather than its delivery. */
export function isUnusable(reason: DeadLetterReason): boolean {
  return UNUSABLE.includes(reason);
}

/** Selects which accepted attempts to log, evenly spaced. @param share the share to log, from 0 to 1. */
export function sampling(share: number): () => boolean {
  let due = 0;
  return () => {
    due += share;
    // Because of rounding, a sum of hundredths can be slightly less than 1.
    if (due < 1 - 1e-9) return false;
    due -= 1;
    return true;
  };
}
