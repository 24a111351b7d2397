/**
 * The topic `calls` to the destinations' topics.
 *
 * A batch is what the consumer hands over at once, at most 1,000 records of a partition:
 *
 *   step                                           a crash after it
 *   0  schemas of its values are looked up         the batch is read again, nothing was written
 *   1  the batch is routed, in short pieces        the same
 *   2  copies and dead letters go out in one send  copies that were written are written again
 *   3  copies that came back go around their       the same; those are then written twice
 *      topic; dead letters of refused ones
 *   4  the batch's records are finished            the same, until the consumer commits
 *   5  the consumer commits, now and then          nothing is repeated
 *
 * So an offset is committed only when every copy and dead letter of every record before it is
 * acknowledged. A graceful stop routes nothing new, waits for the sends under way, finishes,
 * commits and leaves: it repeats nothing. Copies that are written twice carry the same message id.
 *
 * The next batch is routed while earlier ones wait for their acknowledgement; the consumer's limits
 * bound how many. The order of a key's calls holds all the same: a partition's batches are sent one
 * after the other, and the producer keeps the order of what it is sent. Copies that go around a topic
 * that takes nothing are overtaken (docs/isolation.md#order-after-a-reroute).
 *
 * Other lists are taken at once, and whole: a batch is routed by those of its beginning. One that is
 * read again after a crash is routed by the lists of that time.
 */

import { setImmediate as otherWork } from "node:timers/promises";

import type { OnCorruptBatch } from "../domain/corrupt-batch.ts";
import type { DeadLettered } from "../domain/dead-letter-records.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import type { AssignedPartition, PartitionHandler } from "../kafka/port.ts";
import { InFlightCount } from "../runtime/in-flight-set.ts";
import { schemasFirst } from "../stage/await-schemas.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter } from "../stage/dead-letter-writer.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { countDeadLetters } from "../telemetry/count-dead-letters.ts";
import { countRouted } from "./count-routed.ts";
import { failedRules } from "./failed-rules.ts";
import { type Routed, type RoutedCall, routeRecord } from "./route-record.ts";
import { createRouting } from "./routing.ts";
import { routeTraces } from "./trace.ts";

type RoutedLists = Pick<LiveSettings, "sources" | "defaultSource" | "destinations">;

export interface RouteConfig extends RoutedLists {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Bytes of unfinished records of `calls`; by default `ROUTE_MAX_BYTES`. */
  readonly maxBytes?: number;
  /** Whether a damaged batch halts the stage or is given up; by default `stop`. */
  readonly onCorruptBatch?: OnCorruptBatch;
  /** Longest wait for sends under way when a partition or the process goes. */
  readonly drainLimitMs: number;
}

/**
 * Bytes of unfinished records, as the program runs it. Two seconds of 1,500 calls a second wait for
 * a partition without a leader before the others wait, too; more of them outlive V8's young
 * generation, which costs a quarter of the CPU (docs/decisions/0007-garbage-collection.md).
 */
export const ROUTE_MAX_BYTES = 3 * 1_024 * 1_024;
/** Unfinished records of a partition: a few batches wait for the brokers while one is routed. */
const PARTITION_RECORDS_MAX = 4_000;
/** Records routed between two looks at other work: about a millisecond. */
const PIECE_RECORDS = 100;
/** The same for values that have a schema, with their JSON: it can be much larger than they are. */
const PIECE_READ_BYTES = 256 * 1_024;
/** So much of it is written before more is made. */
const UNWRITTEN_JSON_BYTES = 4 * 1_024 * 1_024;

/** Starts the one consumer of `calls`. Topics must exist. */
export function startRoute(deps: StageDeps, config: RouteConfig): Promise<RunningStage> {
  const { topics, groups, maxBytes = ROUTE_MAX_BYTES, drainLimitMs } = config;
  const routingOf = ({ sources, defaultSource, destinations }: RoutedLists) =>
    createRouting(sources, defaultSource, destinations, topics);
  let routing = routingOf(config);
  const { write, healthProblems } = createWriter(deps, topics.deadLetters);
  const written = (batch: readonly Routed[]) => traces.written(batch, deps.clock.nowMs());
  const traces = routeTraces(deps.tracing, groups.route);
  const router = () => {
    const byNow = routing;
    return (record: IncomingRecord) => {
      const nowMs = deps.clock.nowMs();
      return traces.route(record, nowMs, (trace) => routeRecord(record, byNow, nowMs, trace));
    };
  };
  const consume = (fail: Fail) => ({
    groupId: groups.route,
    topics: [topics.calls],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    maxBytes,
    // All partitions go to the same brokers: where one has to wait, the others would too. But one
    // that waits for a schema waits alone.
    whenFull: deps.schemas === undefined ? ("hold" as const) : ("pause" as const),
    drainLimitMs,
    onAssigned: schemasFirst(
      deps.schemas,
      (assigned) => partitionHandler(assigned, { router, write, written, fail }),
      fail,
    ),
  });
  return Promise.resolve(
    startConsuming(deps, {
      name: "route",
      deadLetterTopic: topics.deadLetters,
      consume: (fail) => [consume(fail)],
      onCorruptBatch: config.onCorruptBatch,
      healthProblems,
      update: (lists) => {
        routing = routingOf(lists);
      },
    }),
  );
}

/** State that the partitions share. */
interface Work {
  /** Routes the records of a batch that begins now, all by the same lists. */
  readonly router: () => (record: IncomingRecord) => Routed;
  /** Resolves when all records of the batch are acknowledged. */
  readonly write: (batch: readonly Routed[]) => Promise<void>;
  readonly written: (batch: readonly Routed[]) => void;
  readonly fail: Fail;
}

function partitionHandler(assigned: AssignedPartition, work: Work): PartitionHandler {
  const waiting: (readonly IncomingRecord[])[] = [];
  const writes = new InFlightCount();
  let isDraining = false;
  let unwrittenJson = 0;

  const routeBatch = async (records: readonly IncomingRecord[]) => {
    let batch: Routed[] = [];
    let [inPiece, readInPiece] = [0, 0];
    const route = work.router();
    for (const record of records) {
      if (inPiece === PIECE_RECORDS || readInPiece >= PIECE_READ_BYTES) {
        [inPiece, readInPiece] = [0, 0];
        await otherWork();
      }
      if (isDraining) return;
      const routed = route(record);
      batch.push(routed);
      inPiece += 1;
      if (record.schema !== undefined) readInPiece += record.value?.length ?? 0;
      readInPiece += jsonBytesOf(routed);
      unwrittenJson += jsonBytesOf(routed);
      if (unwrittenJson >= UNWRITTEN_JSON_BYTES) {
        begin(batch);
        batch = [];
        await writes.ended();
      }
    }
    begin(batch);
  };
  const begin = (batch: readonly Routed[]) => {
    if (batch.length === 0) return;
    const written = work
      .write(batch)
      .then(() => {
        work.written(batch);
        for (const routed of batch) {
          unwrittenJson -= jsonBytesOf(routed);
          assigned.finish(routed.record.offset);
        }
      })
      .catch((error: unknown) => work.fail(error));
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
      await routing.ended();
      await writes.ended();
    },
  };
}

/** Memory that a record takes beyond its own: the JSON of a value that has a schema. */
function jsonBytesOf(routed: Routed): number {
  if (routed.kind === "unusable" || routed.record.schema === undefined) return 0;
  return routed.records[0]?.value?.length ?? 0;
}

type Writer = Pick<Work, "write"> & Pick<RunningStage, "healthProblems">;

/** Writes batches, counts the written records, and tells of those given up. */
function createWriter(deps: StageDeps, deadLetterTopic: string): Writer {
  const writer = deadLetterWriter(deps, "route", deadLetterTopic);
  const count = countRouted(deps.metrics);
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
      tell(written.deadLetters);
    },
  };
}
