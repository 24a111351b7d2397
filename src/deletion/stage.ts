/**
 * The topic `deletion-requests` to the topics of webhook destinations, and to the owners of
 * audiences.
 *
 * A partition's requests are taken in pieces, one after the other:
 *
 *   step                                              a crash after it
 *   0  schemas of their values are looked up          the piece is read again, nothing was written
 *   1  how many partitions audience-syncs has         the same
 *   2  notifications, forget-user records and dead    what was written is written again: the
 *      letters go out in one send                     notifications with the same message ids, the
 *                                                     forget-user records as they were
 *   3  dead letters of what the brokers refused;     the same; those that go around are then written
 *      notifications go around a blocked topic       twice
 *   4  the piece's requests are finished              the same, until the consumer commits
 *   5  the consumer commits, now and then             nothing is repeated
 *
 * So an offset is committed only when each notification of each request before it is acknowledged,
 * and each partition of audience-syncs has the user to forget. A graceful stop takes no new piece,
 * waits for the one under way, finishes, commits and leaves: it repeats nothing.
 *
 * Partitions are counted anew for each piece: audiences in one that was added while this runs would
 * keep the user otherwise. As long as the topic is missing or cannot be asked for, requests wait.
 *
 * Other lists are taken at once, and whole: a piece goes by those of its beginning.
 */

import type { OnCorruptBatch } from "../domain/corrupt-batch.ts";
import { describe } from "../domain/json.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import type { AssignedPartition, PartitionHandler } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import { type SlowSteps, watchSlowSteps } from "../runtime/slow-steps.ts";
import { schemasFirst } from "../stage/await-schemas.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter, type Refused } from "../stage/dead-letter-writer.ts";
import { topicsFix } from "../stage/missing-topics.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { countDeadLetters } from "../telemetry/count-dead-letters.ts";
import { lineLimit } from "../telemetry/log-rate-limit.ts";
import { listenersBySource } from "./affected-sources.ts";
import { decideDeletion } from "./deletion.ts";
import { nextPiece, type Piece } from "./request-batch.ts";

type NotifiedLists = Pick<LiveSettings, "sources" | "destinations">;

export interface DeletionConfig extends NotifiedLists {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Bytes of unfinished requests. */
  readonly maxBytes: number;
  /** Whether a damaged batch halts the stage or is given up; by default `stop`. */
  readonly onCorruptBatch?: OnCorruptBatch;
  /** Longest wait for a piece under way when a partition or the process goes. */
  readonly drainLimitMs: number;
}

const stage = "deletion";
const PARTITION_RECORDS_MAX = 2_000;
const LOG_LINES_PER_SECOND = 10;
/** Of ids that no source has; the rest is told as a number. */
const IDS_LOGGED_MAX = 10;
const ASK_AGAIN_MS = 1_000;
/** A step that waits longer is shown as trouble. */
const SLOW_STEP_MS = 5_000;

/** Starts the one consumer of `deletion-requests`. Topics must exist. */
export function startDeletion(deps: StageDeps, config: DeletionConfig): Promise<RunningStage> {
  const { topics } = config;
  const listenersOf = ({ sources, destinations }: NotifiedLists) =>
    listenersBySource(sources, destinations, topics);
  let listeners = listenersOf(config);
  const waits = watchSlowSteps(deps.clock, SLOW_STEP_MS);
  const writer = createWriter(deps, topics.deadLetters);
  const work = (fail: Fail): Work => ({
    cut: (waiting, partitions) => {
      const nowMs = deps.clock.nowMs();
      const byNow = listeners;
      const decide = (record: IncomingRecord) => decideDeletion(record, byNow, nowMs);
      return nextPiece(waiting, { decide, topics, partitions });
    },
    countPartitions: createPartitionCount(deps, topics.audienceSyncs, waits),
    write: writer.write,
    fail,
  });
  const running = startConsuming(deps, {
    name: stage,
    deadLetterTopic: topics.deadLetters,
    onCorruptBatch: config.onCorruptBatch,
    consume: (fail) => [
      {
        groupId: config.groups.deletion,
        topics: [topics.deletionRequests],
        partitionRecordsMax: PARTITION_RECORDS_MAX,
        maxBytes: config.maxBytes,
        // All partitions go to the same brokers: where one has to wait, the others would too. But
        // one that waits for a schema waits alone.
        whenFull: deps.schemas === undefined ? "hold" : "pause",
        drainLimitMs: config.drainLimitMs,
        onAssigned: schemasFirst(
          deps.schemas,
          (assigned) => partitionHandler(assigned, work(fail)),
          fail,
        ),
      },
    ],
    healthProblems: () => [...waits.healthProblems(), ...writer.healthProblems()],
    update: (lists) => {
      listeners = listenersOf(lists);
    },
  });
  return Promise.resolve(running);
}

/** State that the partitions share. */
interface Work {
  /** Of `audience-syncs`; null when the signal aborts before it is known. */
  readonly countPartitions: (signal: AbortSignal) => Promise<number | null>;
  /** Takes a piece off the beginning of the waiting requests. */
  readonly cut: (waiting: IncomingRecord[], partitions: number) => Piece;
  /** Resolves when all records of the piece are acknowledged. */
  readonly write: (piece: Piece) => Promise<void>;
  readonly fail: Fail;
}

function partitionHandler(assigned: AssignedPartition, work: Work): PartitionHandler {
  const waiting: IncomingRecord[] = [];
  const draining = new AbortController();
  let writing = Promise.resolve();

  const carryOut = async (piece: Piece) => {
    await work.write(piece);
    for (const { record } of piece.requests) assigned.finish(record.offset);
  };
  const step = async () => {
    const partitions = await work.countPartitions(draining.signal);
    if (partitions === null) return;
    writing = carryOut(work.cut(waiting, partitions));
    await writing;
  };
  const working = serialRunner(() => (waiting.length === 0 ? null : step()), work.fail);
  return {
    take: (records) => {
      for (const record of records) waiting.push(record);
      working.wake();
    },
    drain: async () => {
      draining.abort();
      waiting.length = 0;
      // `working` tells of its failures.
      await writing.catch(() => undefined);
    },
  };
}

function createPartitionCount(
  { kafka, clock, log }: StageDeps,
  topic: string,
  waits: SlowSteps,
): Work["countPartitions"] {
  const count = async (): Promise<number | Error> => {
    try {
      const [state] = await kafka.admin.describe([topic], []);
      if (state !== undefined) return state.partitions;
      await kafka.admin.assertVisible([topic]);
      return new Error("there is no such topic");
    } catch (error) {
      return asError(error);
    }
  };
  const untilKnown = async (signal: AbortSignal): Promise<number | null> => {
    let notified = "";
    while (!signal.aborted) {
      const counted = await count();
      if (typeof counted === "number") return signal.aborted ? null : counted;
      const error = counted.message;
      const fix = topicsFix(counted);
      if (error !== notified) log.error({ stage, topic, error, fix }, "deletion.blocked");
      notified = error;
      await clock.sleep(ASK_AGAIN_MS, signal).catch(() => undefined);
    }
    return null;
  };
  const what = `the topic ${topic}, which has users to forget, could not be asked for its partitions`;
  return (signal) => waits.during(what, untilKnown(signal));
}

type Writer = Pick<Work, "write"> & Pick<RunningStage, "healthProblems">;

/** Writes pieces, counts the written records, and tells of those given up. */
function createWriter(deps: StageDeps, topic: string): Writer {
  const writer = deadLetterWriter(deps, stage, topic);
  const report = createReport(deps);
  const tell = countDeadLetters(deps);
  return {
    healthProblems: writer.healthProblems,
    write: async (piece) => {
      const written = await writer.write(piece.requests, piece.deadLettered);
      report(piece, written.refused);
      tell(written.deadLetters);
    },
  };
}

/** Counts a piece once it is written, and logs sources that nobody knows. */
function createReport({
  metrics,
  log,
  clock,
}: StageDeps): (piece: Piece, refused: Refused) => void {
  const recordsIn = metrics.recordsIn.bind({ stage });
  const unheard = metrics.deletionsUnheard.bind({});
  const lines = lineLimit(LOG_LINES_PER_SECOND);
  return ({ requests }, refused) => {
    recordsIn.inc(requests.length);
    for (const { decided } of requests) {
      if (decided.kind === "unusable") continue;
      const { notifications, unknownSources, record } = decided;
      if (notifications.length === 0) unheard.inc();
      for (const { destination, outgoing } of notifications) {
        if (!refused.has(outgoing)) metrics.deletesWritten.bind({ destination }).inc();
      }
      if (unknownSources.length === 0) continue;
      const omittedLines = lines.admit(clock.nowMs());
      if (omittedLines === null) continue;
      const { topic, partition, offset } = record;
      const sources = unknownSources.slice(0, IDS_LOGGED_MAX).map(describe);
      const count = unknownSources.length;
      const line = { stage, sources, count, topic, partition, offset, omittedLines };
      log.warn(line, "deletion.unknown-sources");
    }
  };
}
