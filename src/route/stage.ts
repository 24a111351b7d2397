/**
 * The topic `calls` to the destinations' topics.
 *
 * A batch is what the consumer hands over at once, at most 1,000 records of a partition:
 *
 *   step                                           a crash after it
 *   1  the batch is routed, in short pieces        the batch is read again, nothing was written
 *   2  copies and dead letters go out in one send  copies that were written are written again
 *   3  dead letters of copies that were refused    the same
 *   4  the batch's records are finished            the same, until the consumer commits
 *   5  the consumer commits, now and then          nothing is repeated
 *
 * So an offset is committed only when every copy and dead letter of every record before it is
 * acknowledged. A graceful stop routes nothing new, waits for the sends under way, finishes,
 * commits and leaves: it repeats nothing. Copies that are written twice carry the same message id.
 *
 * The next batch is routed while earlier ones wait for their acknowledgement; the consumer's limits
 * bound how many. The order of a key's calls holds all the same: a partition's batches are sent one
 * after the other, and the producer keeps the order of what it is sent.
 */

import { setImmediate as otherWork } from "node:timers/promises";

import type { Destination, Source } from "../domain/destination.ts";
import { bareLetter, type DeadLetter, deadLetterOf } from "../domain/given-up.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import {
  type AssignedPartition,
  ClosedError,
  type Kafka,
  type PartitionHandler,
  type Producer,
} from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import { lineLimit } from "../telemetry/line-limit.ts";
import type { Log } from "../telemetry/log.ts";
import { watchConsumer } from "../telemetry/watch-consumer.ts";
import { tooLargeLetters } from "./dead-letters.ts";
import { type Routed, routeRecord } from "./route-record.ts";
import { createRouting } from "./routing.ts";

export interface RouteDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The stage cannot go on, and nobody else can do its work in this process. Called at most once. */
  readonly onFatal: (error: Error) => void;
}

export interface RouteConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  readonly destinations: readonly Destination[];
  /** Bytes of unfinished records of `calls`. */
  readonly bytesMax: number;
  /** Longest wait for sends under way when a partition or the process goes. */
  readonly drainLimitMs: number;
}

/** Unfinished records of a partition: a few batches wait for the brokers while one is routed. */
const PARTITION_RECORDS_MAX = 4_000;
/** Records routed between two looks at other work: about a millisecond. */
const PIECE_RECORDS = 100;
const LOG_LINES_PER_SECOND = 10;
/** A send that waits longer is shown as trouble. */
const SLOW_SEND_MS = 5_000;

/** Starts the one consumer of `calls`. Topics must exist. */
export function startRoute(deps: RouteDeps, config: RouteConfig): Promise<RunningStage> {
  const { sources, defaultSource, destinations, topics } = config;
  const routing = createRouting(sources, defaultSource, destinations, topics);
  const writer = createWriter(deps, topics.deadLetters);
  const fail = once(deps.onFatal);
  const consumer = deps.kafka.consume({
    groupId: config.groups.route,
    topics: [topics.calls],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    bytesMax: config.bytesMax,
    // All partitions go to the same brokers: where one has to wait, the others would too.
    whenFull: "hold",
    drainLimitMs: config.drainLimitMs,
    onAssigned: (assigned) =>
      partitionHandler(assigned, {
        route: (record) => routeRecord(record, routing, deps.clock.nowMs()),
        write: writer.write,
        fail,
      }),
    onCrash: fail,
  });
  const watch = watchConsumer(
    deps.metrics,
    consumer,
    { stage: "route", destination: "" },
    deps.clock,
  );
  return Promise.resolve({
    name: "route",
    joined: consumer.joined,
    troubles: writer.troubles,
    [Symbol.asyncDispose]: async () => {
      await consumer.stop();
      watch[Symbol.dispose]();
    },
  });
}

/** What the partitions share. */
interface Work {
  readonly route: (record: IncomingRecord) => Routed;
  /** Resolves when all that the batch becomes is acknowledged. */
  readonly write: (batch: readonly Routed[]) => Promise<void>;
  readonly fail: (error: Error) => void;
}

function partitionHandler(assigned: AssignedPartition, work: Work): PartitionHandler {
  const waiting: (readonly IncomingRecord[])[] = [];
  const writes = new Set<Promise<void>>();
  let routing = Promise.resolve();
  let isRouting = false;
  let isDraining = false;

  const routeWaiting = async () => {
    for (let records = waiting.shift(); records !== undefined; records = waiting.shift()) {
      const batch: Routed[] = [];
      for (const record of records) {
        if (batch.length > 0 && batch.length % PIECE_RECORDS === 0) await otherWork();
        if (isDraining) return;
        batch.push(work.route(record));
      }
      begin(batch);
    }
    // In the same turn as the last look at `waiting`, so that no `take` falls between.
    isRouting = false;
  };
  const begin = (batch: readonly Routed[]) => {
    const write = work
      .write(batch)
      .then(() => {
        for (const { record } of batch) assigned.finish(record.offset);
      })
      .catch((error: unknown) => work.fail(asError(error)))
      .finally(() => writes.delete(write));
    writes.add(write);
  };
  return {
    take: (records) => {
      waiting.push(records);
      if (isRouting) return;
      isRouting = true;
      routing = routeWaiting().catch((error: unknown) => work.fail(asError(error)));
    },
    drain: async () => {
      isDraining = true;
      waiting.length = 0;
      await routing;
      await Promise.all(writes);
    },
  };
}

type Writer = Pick<Work, "write"> & Pick<RunningStage, "troubles">;

/** Writes batches, counts what was written, and tells of what was given up. */
function createWriter(deps: RouteDeps, deadLetterTopic: string): Writer {
  const report = createReport(deps);
  const sender = createSender(deps);

  const write = async (batch: readonly Routed[]) => {
    const nowMs = deps.clock.nowMs();
    const letters: DeadLetter[] = [];
    const records: OutgoingRecord[] = [];
    for (const routed of batch) {
      if (routed.kind === "routed") {
        for (const copy of routed.copies) records.push(copy);
      } else {
        const letter = deadLetterOf("route", routed, deadLetterTopic, nowMs);
        letters.push(letter);
        records.push(letter.outgoing);
      }
    }
    const refused = await sender.send(records);
    if (refused.size > 0) letters.push(...(await writeRefused(batch, letters, refused, nowMs)));
    report(batch, refused, letters);
  };

  const writeRefused = async (
    batch: readonly Routed[],
    letters: readonly DeadLetter[],
    refused: Refused,
    nowMs: number,
  ) => {
    const tooLarge = tooLargeLetters(batch, refused, deadLetterTopic, nowMs);
    const refusedAgain = await sender.send(tooLarge.map(({ outgoing }) => outgoing));
    const bare = [...letters, ...tooLarge]
      .filter(({ outgoing }) => refused.has(outgoing) || refusedAgain.has(outgoing))
      .map((letter) => bareLetter(letter, deadLetterTopic, nowMs).outgoing);
    const [problem] = (await sender.send(bare)).values();
    if (problem === undefined) return tooLarge;
    throw new Error(
      `The topic ${deadLetterTopic} takes not even a dead letter without its value (${problem}). Raise its max.message.bytes.`,
    );
  };
  return { write, troubles: sender.troubles };
}

/** What the brokers do not take because of its size, with what they say. */
type Refused = ReadonlyMap<OutgoingRecord, string>;

function createSender({ producer, clock, metrics }: RouteDeps) {
  const recordsOut = metrics.recordsOut.bind({ stage: "route" });
  const underWay = new Set<{ readonly sentAtMs: number }>();
  return {
    send: async (records: readonly OutgoingRecord[]): Promise<Refused> => {
      if (records.length === 0) return new Map();
      const send = { sentAtMs: clock.nowMs() };
      underWay.add(send);
      try {
        const refused = await producer.send(records);
        recordsOut.inc(records.length - refused.length);
        return new Map(refused.map(({ record, error }) => [record, error]));
      } finally {
        underWay.delete(send);
      }
    },
    troubles: () => {
      // A set keeps its order, so the first one has waited longest.
      const [longest] = underWay;
      const waitedMs = longest === undefined ? 0 : clock.nowMs() - longest.sentAtMs;
      if (waitedMs < SLOW_SEND_MS) return [];
      return [`the brokers have not acknowledged a write for ${Math.round(waitedMs / 1_000)} s`];
    },
  };
}

type Report = (batch: readonly Routed[], refused: Refused, letters: readonly DeadLetter[]) => void;

/** Counts and logs a batch once it is written. */
function createReport({ metrics, log, clock }: RouteDeps): Report {
  const stage = "route";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const lines = lineLimit(LOG_LINES_PER_SECOND);
  return (batch, refused, letters) => {
    recordsIn.inc(batch.length);
    const copies = new Map<DestinationId, number>();
    for (const routed of batch) {
      if (routed.kind === "unusable") continue;
      if (routed.routes.length === 0)
        metrics.callsUnrouted.bind({ source: routed.source.id }).inc();
      routed.routes.forEach(({ destination }, index) => {
        const copy = routed.copies[index];
        if (copy === undefined || refused.has(copy)) return;
        copies.set(destination, (copies.get(destination) ?? 0) + 1);
      });
    }
    for (const [destination, count] of copies) metrics.callsRouted.bind({ destination }).inc(count);
    for (const { record, reason, error } of letters) {
      metrics.recordsRefused.bind({ stage, reason }).inc();
      metrics.deadLetters.bind({ stage, reason }).inc();
      const linesLeftOut = lines.admit(clock.nowMs());
      if (linesLeftOut === null) continue;
      const { topic, partition, offset } = record;
      log.warn({ stage, reason, error, topic, partition, offset, linesLeftOut }, "record.refused");
    }
  };
}

function once(act: (error: Error) => void): (error: Error) => void {
  let isDone = false;
  return (error) => {
    // The producer is closed after the stages: whoever closed it knows, and the records will be
    // read again.
    if (isDone || error instanceof ClosedError) return;
    isDone = true;
    act(error);
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(`route failed: ${String(error)}`);
}
