/**
 * The route stage: reads `calls` and writes a delivery to the queue of each destination that should receive the call.
 * A batch is what the consumer passes on in one call: at most 1,000 records of one partition.
 *
 *   step                                            if the process crashes after it
 *   0  wait for the schemas of the values           the batch is read again; nothing was written
 *   1  route the batch in short slices              the same
 *   2  send deliveries and dead letters together    the records that were written are written again
 *   3  reroute deliveries whose topic rejected      the same; rerouted deliveries may then exist twice
 *      them, and dead-letter invalid records
 *   4  mark the records as processed                the same, until the next commit
 *   5  the consumer commits, periodically           nothing is repeated
 *
 * An offset is therefore committed only when every delivery and dead letter of every earlier record has been acknowledged.
 * Deliveries that are written twice have the same message ID. On a graceful stop, the stage routes nothing new, waits
 * for the writes in progress, commits and leaves the group, so nothing is repeated. The next batch is routed while
 * earlier ones wait for acknowledgment, bounded by the consumer's limits; the order of calls with the same key still
 * holds, because a partition's batches are sent in order and the producer keeps that order. Only rerouted deliveries
 * can be overtaken (docs/guarantees.md#order-after-a-reroute).
 *
 * Nothing is written for a call whose user is suppressed when it is routed. If the batch is read again after a crash, the
 * suppressions of that later time apply; the deliver stage checks every delivery again.
 *
 * A reload replaces sources, destinations and rules together. A batch is routed by the configuration that is in
 * effect when its routing starts. If the batch is read again after a crash, the configuration of that later time
 * applies.
 */

import { setImmediate as otherWork } from "node:timers/promises";
import { InFlightCount } from "../../base/runtime/in-flight-set.ts";
import { countDeadLetters } from "../../base/telemetry/count-dead-letters.ts";
import type { DeadLettered } from "../../domain/dead-letter-records.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { BookedPartition } from "../ledger/stage-ledger.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter, type Written } from "../stage/dead-letter-writer.ts";
import type { RunningStage, SharedStageConfig, StageDeps } from "../stage/running-stage.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import { countRouted, countUnreadTimes } from "./count-routed.ts";
import { type Routed, type RoutedCall, type Ruled, routeRecord } from "./route-record.ts";
import { createRouting } from "./routing.ts";
import { tallyRouted } from "./tally-routed.ts";
import { routeTraces } from "./trace.ts";

type RoutedLists = Pick<LiveSettings, "sources" | "defaultSource" | "destinations">;

export interface RouteConfig extends RoutedLists, Omit<SharedStageConfig, "maxBytes"> {
  /** Maximum bytes of records in flight; `ROUTE_MAX_BYTES` by default. */
  readonly maxBytes?: number;
}

/**
 * Maximum bytes of records in flight. At 1,500 calls per second, the stage can continue for 2 s with this limit
 * while one partition has no leader. With a higher limit, records would outlive V8's young generation, and garbage
 * collection would take a quarter of the CPU time (docs/decisions/0007-garbage-collection.md).
 */
export const ROUTE_MAX_BYTES = 3 * 1_024 * 1_024;
/**
 * Maximum number of records in flight per partition. This allows a few batches to wait for the brokers while another
 * batch is routed.
 */
const PARTITION_RECORDS_MAX = 4_000;
/**
 * The number of records that are routed before other work gets a turn. Routing that many records takes about a
 * millisecond.
 */
const PIECE_RECORDS = 100;
/**
 * The same limit in bytes, for values with a schema, and for everything that is created from a call: the JSON of a
 * value can be much larger than the value, and rules create a separate value for each destination.
 */
const PIECE_BYTES = 256 * 1_024;
/** When this many bytes have been created, they are written together. */
const SEND_BYTES = 4 * 1_024 * 1_024;
/**
 * Maximum bytes that all partitions together have created and not written yet (docs/sizing.md#memory). One more call is
 * always routed completely. Before the limit is reached, the stage can continue for 2 s while one partition has no
 * leader, at 1,500 calls per second and 20 destinations.
 */
const UNWRITTEN_MAX_BYTES = 32 * 1_024 * 1_024;
/** The memory of a delivery in addition to its value. */
const DELIVERY_BYTES = 128;

/** Starts the consumer of `calls`. The topics must exist. */
export function startRoute(deps: StageDeps, config: RouteConfig): Promise<RunningStage> {
  const { topics, groups, maxBytes = ROUTE_MAX_BYTES, drainLimitMs } = config;
  const routingOf = ({ sources, defaultSource, destinations }: RoutedLists) =>
    createRouting(sources, defaultSource, destinations, topics);
  const suppressions = deps.suppressions ?? null;
  let routing = routingOf(config);
  const unwritten = new Unwritten();
  const { write, healthProblems } = createWriter(deps, topics.deadLetters);
  const written = (batch: readonly Routed[]) => traces.written(batch, deps.clock.nowMs());
  const traces = routeTraces(deps.tracing, groups.route);
  const router = () => {
    const byNow = routing;
    return (record: IncomingRecord) => {
      const nowMs = deps.clock.nowMs();
      return traces.route(record, nowMs, (trace) =>
        routeRecord(record, byNow, nowMs, trace, suppressions),
      );
    };
  };
  const consume = (fail: Fail) => ({
    groupId: groups.route,
    topics: [topics.calls],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    maxBytes,
    // All partitions write to the same brokers, so if one partition has to wait, the others would have to wait too.
    whenFull: "hold" as const,
    drainLimitMs,
    onAssigned: (assigned: BookedPartition) =>
      partitionHandler(assigned, { router, write, written, unwritten, fail }),
  });
  return Promise.resolve(
    startConsuming(deps, {
      name: "route",
      deadLetterTopic: topics.deadLetters,
      consume: (fail) => [consume(fail)],
      isAudited: true,
      onCorruptBatch: config.onCorruptBatch,
      healthProblems,
      update: (lists) => {
        routing = routingOf(lists);
      },
    }),
  );
}

/** The functions that all partitions use. */
interface RoutingPorts {
  /** Returns a function that routes the records of one batch, all by the same configuration. */
  readonly router: () => (record: IncomingRecord) => Routed;
  /** Writes the records of a batch. Resolves when all of them are acknowledged. */
  readonly write: (batch: readonly Routed[]) => Promise<Pick<Written, "instead">>;
  readonly written: (batch: readonly Routed[]) => void;
  readonly unwritten: Unwritten;
  readonly fail: Fail;
}

/** Counts the bytes that were created and not written yet. */
class Unwritten {
  #bytes = 0;
  #changed = Promise.withResolvers<void>();

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Ends all waits for room, after which the caller checks again. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Null if there is room. */
  whenChanged(): Promise<void> | null {
    return this.#bytes < UNWRITTEN_MAX_BYTES ? null : this.#changed.promise;
  }
}

function partitionHandler(assigned: BookedPartition, work: RoutingPorts): PartitionHandler {
  const waiting: (readonly IncomingRecord[])[] = [];
  const writes = new InFlightCount();
  let isDraining = false;

  const routeBatch = async (records: readonly IncomingRecord[]) => {
    let batch: Routed[] = [];
    let [inPiece, bytesInPiece, bytesInBatch] = [0, 0, 0];
    const route = work.router();
    const beginBatch = () => {
      begin(batch, bytesInBatch);
      [batch, bytesInBatch] = [[], 0];
    };
    for (const record of records) {
      if (inPiece === PIECE_RECORDS || bytesInPiece >= PIECE_BYTES) {
        [inPiece, bytesInPiece] = [0, 0];
        await otherWork();
      }
      let full = work.unwritten.whenChanged();
      if (full !== null || bytesInBatch >= SEND_BYTES) beginBatch();
      for (; full !== null && !isDraining; full = work.unwritten.whenChanged()) await full;
      if (isDraining) return work.unwritten.remove(bytesInBatch);
      const routed = route(record);
      const bytes = createdBytes(routed);
      work.unwritten.add(bytes);
      batch.push(routed);
      bytesInBatch += bytes;
      inPiece += 1;
      bytesInPiece += bytes;
      if (record.schema !== undefined) bytesInPiece += record.value?.length ?? 0;
    }
    beginBatch();
  };
  const begin = (batch: readonly Routed[], bytes: number) => {
    if (batch.length === 0) return;
    const written = work
      .write(batch)
      .then((result) => {
        work.written(batch);
        for (const routed of batch) {
          if (assigned.book !== undefined) tallyRouted(assigned.book, routed, result);
          assigned.finish(routed.record.offset);
        }
      })
      .catch((error: unknown) => work.fail(error))
      .finally(() => work.unwritten.remove(bytes));
    writes.add(written);
  };
  const routing = serialRunner(() => {
    const records = waiting.shift();
    return records === undefined ? null : routeBatch(records);
  }, work.fail);
  return {
    take: (records) => {
      waiting.push(records);
      routing.wake();
    },
    drain: async () => {
      isDraining = true;
      waiting.length = 0;
      work.unwritten.remove(0);
      await routing.ended();
      await writes.ended();
    },
  };
}

/** The memory that a call needs in addition to its own bytes, which the consumer counts: that of its deliveries. */
function createdBytes(routed: Routed): number {
  if (routed.kind === "unusable") return 0;
  const { record, records, ruled } = routed;
  const all = records.length * DELIVERY_BYTES;
  if (ruled === null)
    return record.schema === undefined ? all : all + (records[0]?.value?.length ?? 0);
  // Destinations with the same rules share a value.
  const values = new Set(records.map(({ value }) => value));
  values.delete(record.value);
  return [...values].reduce((sum, value) => sum + (value?.length ?? 0), all);
}

type Writer = Pick<RoutingPorts, "write"> & Pick<RunningStage, "healthProblems">;

/** Writes batches, counts the written records, and reports the dead letters. */
function createWriter(deps: StageDeps, deadLetterTopic: string): Writer {
  const writer = deadLetterWriter(deps, "route", deadLetterTopic);
  const count = countRouted(deps.metrics);
  const countUnread = countUnreadTimes(deps);
  const tell = countDeadLetters(deps);
  return {
    healthProblems: writer.healthProblems,
    write: async (batch) => {
      const calls: RoutedCall[] = [];
      const unusable: DeadLettered[] = [];
      for (const routed of batch) {
        if (routed.kind === "routed") {
          calls.push(routed);
          if (routed.ruled !== null) unusable.push(...failedRules(routed, routed.ruled));
        } else unusable.push(routed);
      }
      const written = await writer.write(calls, unusable);
      count(batch, written.refused);
      for (const call of calls) countUnread(call);
      tell(written.deadLetters);
      return written;
    },
  };
}

/**
 * Creates dead letters for the destinations whose rules could not be evaluated for a call. They contain the call's
 * position on `calls`, but neither its key nor its value, because the destination may not be allowed to get the
 * complete call. `switchyard replay` applies the rules again.
 */
function failedRules({ record, from }: RoutedCall, { failed }: Ruled): readonly DeadLettered[] {
  const { topic, partition, offset, timestampMs } = record;
  return failed.map(({ destination, error }) => ({
    record: { topic, partition, offset, timestampMs, key: null, value: null, headers: [] },
    reason: "rule-failed",
    error: `${error}: replay the call with \`switchyard replay ${destination}\``,
    headers: [
      [DELIVERY_HEADER.source, Buffer.from(from.source.id)],
      [DELIVERY_HEADER.destination, Buffer.from(destination)],
    ],
  }));
}
