/** Formats an explanation as one JSON object per line. */

import { callKey } from "../../domain/call.ts";
import { isoTimestamp } from "../../domain/timestamp.ts";
import type {
  EndpointRequest,
  ExplainedBatch,
  ExplainedDestination,
  Explanation,
  FirstStep,
} from "./explanation.ts";

/** @param number the number of the line, counted from 1. */
export function explanationJson(explanation: Explanation, number: number): string {
  if (explanation.kind === "unusable") {
    const { reason, error } = explanation;
    return JSON.stringify({ line: number, call: null, deadLetter: { reason, error } });
  }
  const { call, source, namedBy, times } = explanation.read;
  return JSON.stringify({
    line: number,
    call: {
      type: call.type,
      source: source.id,
      namedBy,
      messageId: call.messageId,
      key: callKey(call),
      timestamp: isoTimestamp(times.timestampMs),
      unreadTime: times.unread,
    },
    destinations: explanation.destinations.map(destinationOf),
  });
}

function destinationOf(explained: ExplainedDestination): object {
  const { destination, reason, filter, changed, copy, first } = explained;
  const { id, name } = destination;
  const rules = { filter, changed };
  const reported = { id, name, gets: copy !== null, reason, ...rules, topic: copy?.topic ?? null };
  return { ...reported, first: first === null ? null : stepOf(first) };
}

function stepOf(first: FirstStep): object {
  if (first.kind !== "attempt") return first;
  if (first.batched !== null) return { kind: "batch" };
  return { kind: first.kind, requests: first.requests.map(requestOf) };
}

function requestOf(request: EndpointRequest): object {
  return { ...request, body: request.body.toString() };
}

/** Formats a batch as a separate line. */
export function batchJson({ destination, lines, requests }: ExplainedBatch): string {
  const batch = { destination: destination.id, lines, requests: requests.map(requestOf) };
  return JSON.stringify({ batch });
}
