/**
 * Posts the events from the topic `operator-events` to the operator webhook, in order. The position is stored in a
 * separate consumer group. Only one process posts at a time, and a process that is restarted continues at the stored
 * position. Nothing else waits for the webhook.
 *
 *   step                                           if the process crashes after it
 *   1  the event is read                           it is read again
 *   2  it is posted, and accepted or skipped       it is posted again, with the same ID
 *   3  its offset is committed                     nothing is repeated
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { AssignedPartition, Kafka, PartitionHandler } from "../../kafka/port.ts";
import { KeptConsumer } from "../../router/stage/keep-consuming.ts";
import { serialRunner } from "../../router/stage/serial-runner.ts";
import type { TopicKeeper } from "../../router/stage/topic-keeper.ts";
import { haltTexts } from "../../router/stage/watch-consumer.ts";
import { type OperatorEvent, readEvent } from "./event.ts";

const RECORDS_MAX = 100;
const MAX_BYTES = 1_048_576;
/** How long a request in flight may take to finish when the process stops. */
const DRAIN_LIMIT_MS = 10_000;
const LINE_EVERY_MS = 60_000;

export interface PostDeps {
  readonly kafka: Kafka;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly keeper?: TopicKeeper;
}

export interface PostedTopic {
  readonly topic: string;
  readonly group: string;
  /** Posts a CloudEvent within a time limit. Never rejects. */
  readonly post: (event: OperatorEvent, text: string) => Promise<Posted>;
}

export interface RunningPosts extends AsyncDisposable {
  readonly healthProblems: () => readonly string[];
}

/** Joins the group immediately. */
export function postEvents(deps: PostDeps, { topic, group, post }: PostedTopic): RunningPosts {
  const { kafka, clock, log, keeper } = deps;
  const state = new State(deps);
  const options = {
    groupId: group,
    topics: [topic],
    partitionRecordsMax: RECORDS_MAX,
    maxBytes: MAX_BYTES,
    whenFull: "pause" as const,
    drainLimitMs: DRAIN_LIMIT_MS,
    onAssigned: (assigned: AssignedPartition) => postsOf(assigned, { clock, state, post }),
    onHalted: (error: Error) => onCrash(error),
  };
  const onCrash = (error: Error) =>
    log.warn({ topic, error: error.message }, "operator-events.write-failed");
  const consumer = new KeptConsumer(kafka, options, clock, onCrash, { keeper });
  // If the consumer is stopped before it has joined, `joined` rejects.
  consumer.joined.catch(() => undefined);
  return {
    healthProblems: () => [...state.healthProblems(), ...haltTexts(consumer.vitals())],
    [Symbol.asyncDispose]: () => consumer.stop(),
  };
}

function postsOf(
  assigned: AssignedPartition,
  { clock, state, post }: Pick<PostedTopic, "post"> & { clock: Clock; state: State },
): PartitionHandler {
  const given = new AbortController();
  const queue: IncomingRecord[] = [];
  const one = async (record: IncomingRecord) => {
    for (let tries = 1; ; tries += 1) {
      const task = taskOf(record, clock.nowMs());
      if (task.kind === "none") return;
      if (task.kind === "too-old") return state.passedOver();
      const posted = await post(task.event, task.text);
      state.take(task.event, posted);
      if (posted.kind !== "retry") return;
      await clock.sleep(waitBefore(tries, posted.retryAfterMs), given.signal);
    }
  };
  const next = async (record: IncomingRecord) => {
    await one(record);
    assigned.finish(record.offset);
  };
  const working = serialRunner(
    () => {
      const record = given.signal.aborted ? undefined : queue.shift();
      return record === undefined ? null : next(record);
    },
    (thrown) => {
      if (!given.signal.aborted) throw asError(thrown);
    },
  );
  return {
    take: (records) => {
      queue.push(...records);
      working.wake();
    },
    drain: () => {
      given.abort();
      return working.ended();
    },
  };
}

/** Reports the results of requests in the log, in metrics and in `/readyz`. */
class State {
  readonly #deps: Pick<PostDeps, "clock" | "log" | "metrics">;
  #failing: { readonly sinceMs: number; readonly cause: string } | null = null;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Pick<PostDeps, "clock" | "log" | "metrics">) {
    this.#deps = deps;
  }

  take({ kind, subject }: OperatorEvent, posted: Posted): void {
    const { clock, log } = this.#deps;
    this.#count(posted.kind);
    if (posted.kind === "accepted") {
      this.#failing = null;
      return;
    }
    const nowMs = clock.nowMs();
    const { cause } = posted;
    if (posted.kind === "rejected") {
      log.warn({ event: kind, subject, cause }, "operator-webhook.rejected");
      return;
    }
    this.#failing = { sinceMs: this.#failing?.sinceMs ?? nowMs, cause };
    if (nowMs - this.#saidAtMs < LINE_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    log.warn({ event: kind, subject, cause }, "operator-webhook.failing");
  }

  passedOver(): void {
    this.#count("too-old");
  }

  healthProblems(): readonly string[] {
    if (this.#failing === null) return [];
    const since = new Date(this.#failing.sinceMs).toISOString();
    return [`the operator webhook has been failing since ${since}: ${this.#failing.cause}`];
  }

  #count(outcome: Posted["kind"] | "too-old"): void {
    this.#deps.metrics.operatorEventPosts.bind({ outcome }).inc();
  }
}

/**
 * Decides whether an event is posted to the operator webhook, skipped, or posted again.
 *
 *   an event                                     result
 *   has no value, or is not an operator event    skipped
 *   was written more than a day ago              skipped and counted, because it is no longer useful
 *   any other                                    posted
 *
 *   its request                                  result
 *   is accepted                                  the next event is posted
 *   is rejected                                  skipped and logged, because the response would not change
 *   gets no response, or one that is retried     posted again after 5 s, then 10 s, 20 s, ... at most 5 min, and not before
 *                                                `Retry-After`; later events wait
 */

/** The result of a request, classified as in the deliver stage. */
export type Posted =
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected"; readonly cause: string }
  | { readonly kind: "retry"; readonly cause: string; readonly retryAfterMs: number | null };

type Task =
  | { readonly kind: "post"; readonly event: OperatorEvent; readonly text: string }
  | { readonly kind: "too-old"; readonly event: OperatorEvent }
  | { readonly kind: "none" };

const AGE_MAX_MS = 86_400_000;
const WAIT_MIN_MS = 5_000;
const WAIT_MAX_MS = 300_000;
/** A longer `Retry-After` is shortened to this, because events are not useful after a day. */
const RETRY_AFTER_MAX_MS = 3_600_000;

export function taskOf(
  { value, timestampMs }: Pick<IncomingRecord, "value" | "timestampMs">,
  nowMs: number,
): Task {
  const event = value === null ? null : readEvent(value);
  if (value === null || event === null) return { kind: "none" };
  if (timestampMs > 0 && nowMs - timestampMs > AGE_MAX_MS) return { kind: "too-old", event };
  return { kind: "post", event, text: value.toString() };
}

/** @param tries the number of requests for the event so far, at least 1. */
export function waitBefore(tries: number, retryAfterMs: number | null): number {
  const ownMs = Math.min(WAIT_MAX_MS, WAIT_MIN_MS * 2 ** Math.min(tries - 1, 20));
  return Math.max(ownMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}
