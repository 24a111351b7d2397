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
import { type DeadLetter, deadLetterOf } from "../domain/given-up.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import { failOnce } from "../kafka/fail-once.ts";
import { letterWriter, type Refused } from "../kafka/letter-writer.ts";
import type { AssignedPartition, PartitionHandler } from "../kafka/port.ts";
import type { StageDeps } from "../kafka/stage-deps.ts";
import type { RunningStage } from "../runtime/stage.ts";
import { UnderWay } from "../runtime/under-way.ts";
import { countLetters } from "../telemetry/count-letters.ts";
import { watchConsumer } from "../telemetry/watch-consumer.ts";
import { tooLargeLetters } from "./dead-letters.ts";
import { type Routed, routeRecord } from "./route-record.ts";
import { createRouting } from "./routing.ts";

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

/** Starts the one consumer of `calls`. Topics must exist. */
export function startRoute(deps: StageDeps, config: RouteConfig): Promise<RunningStage> {
  const { sources, defaultSource, destinations, topics } = config;
  const routing = createRouting(sources, defaultSource, destinations, topics);
  const writer = createWriter(deps, topics.deadLetters);
  const fail = failOnce(deps.onFatal);
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
  readonly fail: (thrown: unknown) => void;
}

function partitionHandler(assigned: AssignedPartition, work: Work): PartitionHandler {
  const waiting: (readonly IncomingRecord[])[] = [];
  const writes = new UnderWay();
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
    const written = work
      .write(batch)
      .then(() => {
        for (const { record } of batch) assigned.finish(record.offset);
      })
      .catch((error: unknown) => work.fail(error));
    writes.add(written);
  };
  return {
    take: (records) => {
      waiting.push(records);
      if (isRouting) return;
      isRouting = true;
      routing = routeWaiting().catch((error: unknown) => work.fail(error));
    },
    drain: async () => {
      isDraining = true;
      waiting.length = 0;
      await routing;
      await writes.ended();
    },
  };
}

type Writer = Pick<Work, "write"> & Pick<RunningStage, "troubles">;

/** Writes batches, counts what was written, and tells of what was given up. */
function createWriter(deps: StageDeps, deadLetterTopic: string): Writer {
  const { producer, clock, metrics } = deps;
  const recordsOut = metrics.recordsOut.bind({ stage: "route" });
  const writer = letterWriter(producer, clock, deadLetterTopic, (count) => recordsOut.inc(count));
  const count = createCount(deps);
  const tell = countLetters(deps);
  return {
    troubles: writer.troubles,
    write: async (batch) => {
      const nowMs = clock.nowMs();
      const letters: DeadLetter[] = [];
      const copies: OutgoingRecord[] = [];
      for (const routed of batch) {
        if (routed.kind === "routed") for (const copy of routed.copies) copies.push(copy);
        else letters.push(deadLetterOf("route", routed, deadLetterTopic, nowMs));
      }
      const written = await writer.write(copies, letters, (refused) =>
        tooLargeLetters(batch, refused, deadLetterTopic, nowMs),
      );
      count(batch, written.refused);
      tell(written.letters);
    },
  };
}

/** Counts a batch once it is written. */
function createCount({ metrics }: StageDeps): (batch: readonly Routed[], refused: Refused) => void {
  const recordsIn = metrics.recordsIn.bind({ stage: "route" });
  return (batch, refused) => {
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
    for (const [destination, number] of copies) {
      metrics.callsRouted.bind({ destination }).inc(number);
    }
  };
}
