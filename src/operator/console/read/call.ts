/**
 * Reads the timeline of one call for the console, with the same sentences as `switchyard timeline`. Reading ends
 * after 20 s, because an operator is waiting. Names of events and the starts of responses can contain data of users,
 * so they are shown only if `console.showPayloads` allows it. If the call still exists, the result also contains what
 * would happen to it now.
 */

import type { Config } from "../../../config/config.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { configuredTopics } from "../../connect/connection.ts";
import {
  createRecordExplainer,
  type EndpointRequest,
  type ExplainedDestination,
} from "../../timeline/explanation.ts";
import { noRequestText, reasonText } from "../../timeline/explanation-text.ts";
import { configuredTimeline, readTimeline } from "../../timeline/read-timeline.ts";
import { finalStateText, gapSentence, stepSentence } from "../../timeline/sentences.ts";
import type { CallTimeline, FinalStateKind, TimelineStep } from "../../timeline/steps.ts";
import type { Query } from "../ports.ts";
import type { CallRequest, CallStep, CallView } from "../query-view.ts";
import type { QuerySource } from "./query-source.ts";

const LIMIT_MS = 20_000;

/** Resolves with null if reading takes too long. */
export async function readCallView(
  { kafka, config, openSchemas, signal }: QuerySource,
  { messageId, sinceMs }: Pick<Query, "messageId" | "sinceMs">,
): Promise<CallView | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  await using schemas = await openSchemas(config.registry, limit);
  const ports = configuredTimeline(config, schemas, { kafka, signal: limit });
  const nowMs = Date.now();
  const found = await readTimeline(ports, { messageId, sinceMs: nowMs - sinceMs });
  if (found === null) return null;
  const record = await recordOf(kafka, found, signal);
  // Without its schema, a call cannot be explained. The timeline shows why the schema is missing.
  const read = record === null ? "" : await schemas.given(record);
  const explained =
    typeof read === "string" ? { decisions: [], requests: [] } : explainedCall(read, config, nowMs);
  return { ...callView(found, config.console.showPayloads), ...explained };
}

/** Reads the call itself, if it still exists. */
async function recordOf(
  kafka: Kafka,
  { steps }: CallTimeline,
  signal: AbortSignal,
): Promise<IncomingRecord | null> {
  const received = steps.find(({ kind }) => kind === "received");
  if (received?.kind !== "received") return null;
  const { topic, partition, offset } = received.place;
  const range = { topic, partition, from: offset, to: offset + 1, maxBytes: 1_048_576, signal };
  for await (const [record] of kafka.read(range)) if (record !== undefined) return record;
  return null;
}

/** @param payloads true if data of users may be shown. */
function callView(
  { steps, finalStates, gaps }: CallTimeline,
  payloads: boolean,
): Omit<CallView, "decisions" | "requests"> {
  const found = steps.findLast((step) => step.kind === "received")?.place ?? null;
  return {
    place: found && { partition: found.partition, offset: found.offset },
    steps: steps.map((step) => ({
      at: new Date(step.atMs).toISOString(),
      destination: "destination" in step ? step.destination : null,
      kind: step.kind,
      text: stepSentence(payloads ? step : withoutData(step)),
      tone: toneOf(step),
    })),
    finalStates: finalStates.map((finalState) => ({
      destination: finalState.destination,
      text: finalStateText(finalState),
      tone: finalState.suppressedAtMs === null ? FINAL_STATE_TONES[finalState.kind] : "quiet",
    })),
    gaps: gaps.map((gap) => gapSentence(gap, "a longer time")),
  };
}

function withoutData(step: TimelineStep): TimelineStep {
  if (step.kind === "received") return { ...step, event: null };
  if (step.kind !== "attempt") return step;
  return { ...step, requests: step.requests.map((each) => ({ ...each, response: null })) };
}

const FINAL_STATE_TONES: Readonly<Record<FinalStateKind, CallStep["tone"]>> = {
  accepted: "good",
  finished: "good",
  "dead-lettered": "bad",
  waiting: "warn",
  due: "warn",
  queued: "quiet",
  suppressed: "quiet",
  written: "quiet",
};

function toneOf(step: TimelineStep): CallStep["tone"] {
  if (step.kind === "attempt") {
    if (step.decision === "accepted") return "good";
    return step.decision === "retry" ? "warn" : "bad";
  }
  if (step.kind === "dead-lettered" || step.kind === "unusable") return "bad";
  return step.kind === "retry-scheduled" || step.kind === "rerouted" ? "warn" : "quiet";
}

/**
 * Finds out what the stages would do with a call now, as `explain` does: which destinations get the call and why,
 * and which requests the deliver stage would send. Nothing is sent. Static headers may be secret, and so may every
 * part of a URL except scheme, host and port; these are not shown. Bodies contain data of users, so they are shown
 * only if `console.showPayloads` allows it.
 */
const DESTINATIONS_MAX = 50;
const BODY_CHARACTERS = 16_384;

const NO_REQUEST = {
  endpoint: null,
  method: "",
  origin: "",
  headers: [],
  body: null,
  bodyBytes: 0,
};

/** @param record a record of `calls`, with the schema of its value if it has one. */
function explainedCall(
  record: IncomingRecord,
  config: Config,
  nowMs: number,
): Pick<CallView, "decisions" | "requests"> {
  const explained = createRecordExplainer(config, configuredTopics(config))(record, nowMs);
  if (explained.kind === "unusable") return { decisions: [], requests: [] };
  const { destinations, read } = explained;
  const getting = destinations.filter(({ copy }) => copy !== null);
  const connected = destinations.filter(({ reason }) => reason !== "not-connected");
  return {
    decisions: connected.slice(0, DESTINATIONS_MAX).map(({ destination, copy, ...why }) => ({
      destination: destination.id,
      gets: copy !== null,
      reason: why.reason,
      text: reasonText(why, destination.name, read.source.id),
    })),
    requests: getting
      .slice(0, DESTINATIONS_MAX)
      .flatMap((each) => requestsOf(each, config.console.showPayloads)),
  };
}

function requestsOf(
  { destination, first }: ExplainedDestination,
  payloads: boolean,
): readonly CallRequest[] {
  const { id } = destination;
  if (first === null) {
    const note = "receives no requests: its topic is read by other consumers";
    return [{ ...NO_REQUEST, destination: id, note }];
  }
  if (first.kind !== "attempt") {
    return [{ ...NO_REQUEST, destination: id, note: noRequestText(first) }];
  }
  return first.requests.map((request) => requestView(id, request, payloads));
}

function requestView(
  destination: string,
  { endpointName, method, url, headers, secret, body }: EndpointRequest,
  payloads: boolean,
): CallRequest {
  return {
    destination,
    endpoint: endpointName,
    method,
    origin: new URL(url).origin,
    headers: headers.map((header) => {
      const [name, value] = header;
      return [name, secret.includes(header) ? null : value] as const;
    }),
    body: payloads ? cut(body.toString()) : null,
    bodyBytes: body.length,
    note: null,
  };
}

function cut(text: string): string {
  return text.length > BODY_CHARACTERS ? `${text.slice(0, BODY_CHARACTERS)}…` : text;
}
