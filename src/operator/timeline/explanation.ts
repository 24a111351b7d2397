/**
 * Explains what would happen to a record on `calls`. The functions of the route stage create the delivery records,
 * the functions of the deliver stage build the requests from these records, and the destination's type builds the
 * batches. Nothing is sent.
 */

import assert from "node:assert/strict";

import type { Config } from "../../config/config.ts";
import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { AttemptedDestination, Destination, Endpoint } from "../../domain/destination.ts";
import { endpointNames, nameOf } from "../../domain/endpoint-name.ts";
import type { Egress } from "../../domain/live-settings.ts";
import {
  allHeaders,
  type IncomingRecord,
  type OutgoingRecord,
  type RecordHeaders,
} from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { RetryPolicy } from "../../router/deliver/choose-retry-delay.ts";
import { holdCause } from "../../router/deliver/hold-cause.ts";
import { OPEN_GATES, prepare } from "../../router/deliver/prepare.ts";
import { typeOf } from "../../router/destinations/index.ts";
import type { Preview, Sendable } from "../../router/destinations/port.ts";
import type { Reason } from "../../router/route/route.ts";
import { explained, type ReadCall, readCall, routeCall } from "../../router/route/route-record.ts";
import { createRouting } from "../../router/route/routing.ts";

export type Explanation =
  | { readonly kind: "unusable"; readonly reason: DeadLetterReason; readonly error: string }
  | {
      readonly kind: "call";
      readonly read: ReadCall;
      /** The destinations, in the order of the configuration. */
      readonly destinations: readonly ExplainedDestination[];
    };

export interface ExplainedDestination {
  readonly destination: Destination;
  readonly reason: Reason;
  /** Name of the filter that skipped the call; null if none did. */
  readonly filter: string | null;
  /** Paths of the properties that the destination's rules change. */
  readonly changed: readonly string[];
  /** The delivery record that the route stage writes; null if the call is not routed to the destination. */
  readonly copy: OutgoingRecord | null;
  /** The first step of the deliver stage; null if there is no delivery, or if the destination is not attempted. */
  readonly first: FirstStep | null;
}

export type FirstStep =
  /** One request for each endpoint. */
  | {
      readonly kind: "attempt";
      readonly requests: readonly EndpointRequest[];
      /**
       * The call as it would be sent in a request together with other calls (`BatchExplainer`); null if the
       * destination has no batches.
       */
      readonly batched: Sendable | null;
    }
  | { readonly kind: "dead-letter"; readonly reason: DeadLetterReason; readonly error: string }
  | { readonly kind: "retry"; readonly delayMs: number }
  /** In the queue. */
  | { readonly kind: "wait"; readonly reason: "paused" | "disabled" | null };

export interface EndpointRequest extends Preview {
  /** The endpoint ID. */
  readonly endpoint: string;
  readonly endpointName: string;
}

export type Explainer = (line: Buffer, number: number, nowMs: number) => Explanation;
export type RecordExplainer = (record: IncomingRecord, nowMs: number) => Explanation;

type ExplainedDelivery = RetryPolicy & Pick<Egress, "proxy">;
type ExplainerConfig = Pick<Config, "sources" | "defaultSource" | "destinations" | "delivery">;

/** @param headers headers that each record gets, such as the source that was passed to a command. */
export function createExplainer(
  config: ExplainerConfig,
  topics: TopicNames,
  headers: RecordHeaders = [],
): Explainer {
  const explain = createRecordExplainer(config, topics);
  return (line, number, nowMs) =>
    explain({ ...recordOf(line, number, topics.calls, nowMs), headers }, nowMs);
}

export function createRecordExplainer(
  { sources, defaultSource, destinations, delivery }: ExplainerConfig,
  topics: TopicNames,
): RecordExplainer {
  const routing = createRouting(sources, defaultSource, destinations, topics);
  return (record, nowMs) => {
    const read = readCall(record, routing.lookup, nowMs);
    if (read.kind === "refused") return { ...read, kind: "unusable" };
    const routed = routeCall(record, read, routing);
    const copies = new Map(
      routed.routes.map(({ destination }, at) => [destination, routed.records[at]]),
    );
    const decisions = explained(read.call, routed, destinations);
    return {
      kind: "call",
      read,
      destinations: decisions.map(({ destination, reason, filter, changed }) => {
        const copy = copies.get(destination.id) ?? null;
        const isDelivered = copy !== null && destination.isAttempted;
        const first = isDelivered ? firstStep(destination, copy, delivery, nowMs) : null;
        return { destination, reason, filter, changed, copy, first };
      }),
    };
  };
}

/** Turns a line into a record of `calls`, as if the file had just been written to an empty partition. */
function recordOf(line: Buffer, number: number, topic: string, nowMs: number): IncomingRecord {
  const place = { topic, partition: 0, offset: number - 1 };
  return { ...place, timestampMs: nowMs, key: null, value: line, headers: [] };
}

/** Decides what the deliver stage would do first with the route stage's delivery record, and builds the requests. */
export function firstStep(
  destination: AttemptedDestination,
  copy: OutgoingRecord,
  delivery: ExplainedDelivery,
  nowMs: number,
): FirstStep {
  const record = { ...copy, headers: allHeaders(copy) };
  const prepared = prepare(record, destination, delivery, nowMs, OPEN_GATES, "queue");
  switch (prepared.kind) {
    case "attempt": {
      const requests = requestsOf(destination, [prepared], prepared.endpoints, nowMs, delivery);
      const isBatched = attemptsOf(destination).limits(destination) !== null;
      return { kind: "attempt", requests, batched: isBatched ? prepared : null };
    }
    case "dead-letter":
      return { kind: "dead-letter", reason: prepared.reason, error: prepared.error };
    case "unreadable":
      return { kind: "dead-letter", reason: "invalid-call", error: prepared.error };
    case "retry":
      return { kind: "retry", delayMs: prepared.delayMs };
    case "suppressed":
      throw new Error("explain does not know suppressions");
    case "wait":
      return { kind: "wait", reason: holdCause(destination) };
  }
}

function attemptsOf(destination: AttemptedDestination) {
  const { attempts } = typeOf(destination);
  assert(attempts !== null);
  return attempts;
}

function requestsOf(
  destination: AttemptedDestination,
  unit: readonly Sendable[],
  endpoints: readonly Endpoint[],
  nowMs: number,
  egress: Pick<Egress, "proxy">,
): readonly EndpointRequest[] {
  const names = endpointNames(destination);
  return endpoints.map((each) => ({
    endpoint: nameOf(each.key, names).id,
    endpointName: nameOf(each.key, names).name,
    ...attemptsOf(destination).preview(destination, unit, each, nowMs, egress),
  }));
}

export interface ExplainedBatch {
  readonly destination: AttemptedDestination;
  /** The numbers of the lines whose calls are in the batch, in the order in which the calls are sent. */
  readonly lines: readonly number[];
  /** One request for each endpoint. */
  readonly requests: readonly EndpointRequest[];
}

interface BatchedCall {
  readonly line: number;
  readonly sendable: Sendable;
}

/** More calls than a batch can contain, so that the first batches are complete. */
const CALLS_KEPT_MAX = 2_000;

/** Builds the batches in which the calls of a file would be sent if all of them arrived at once, in one partition. */
export class BatchExplainer {
  readonly #kept = new Map<AttemptedDestination, BatchedCall[]>();
  readonly #egress: Pick<Egress, "proxy">;

  constructor(egress: Pick<Egress, "proxy">) {
    this.#egress = egress;
  }

  /** Adds a call. Returns the batches that no later call can join. */
  add(explanation: Explanation, line: number, nowMs: number): readonly ExplainedBatch[] {
    if (explanation.kind === "unusable") return [];
    return explanation.destinations.flatMap(({ destination, first }) => {
      if (first?.kind !== "attempt" || first.batched === null) return [];
      assert(destination.isAttempted);
      const calls = this.#kept.get(destination) ?? [];
      this.#kept.set(destination, calls);
      calls.push({ line, sendable: first.batched });
      return calls.length < CALLS_KEPT_MAX
        ? []
        : this.#take(destination, calls, nowMs).slice(0, -1);
    });
  }

  /** Returns the remaining batches at the end of the file. */
  end(nowMs: number): readonly ExplainedBatch[] {
    return [...this.#kept].flatMap(([destination, calls]) => this.#take(destination, calls, nowMs));
  }

  /** Takes complete batches, and keeps the calls of the last one. */
  #take(
    destination: AttemptedDestination,
    calls: readonly BatchedCall[],
    nowMs: number,
  ): readonly ExplainedBatch[] {
    const sendables = calls.map(({ sendable }) => sendable);
    let begin = 0;
    const batches = attemptsOf(destination)
      .units(destination, sendables)
      .map((unit) => {
        const own = calls.slice(begin, begin + unit.length);
        begin += unit.length;
        const requests = requestsOf(destination, unit, destination.endpoints, nowMs, this.#egress);
        return { destination, lines: own.map(({ line }) => line), requests };
      });
    this.#kept.set(destination, calls.slice(-(batches.at(-1)?.lines.length ?? 0)));
    return batches;
  }
}
