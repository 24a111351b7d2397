/**
 * The deletion stage: reads `deletion-requests`, writes notifications to the topics of webhook destinations, and
 * writes `forget` records to `audience-syncs`, and suppressions.
 *
 * The requests of a partition are processed in pieces, in order:
 *
 *   step                                              if the process crashes after it
 *   0  look up the schemas of the values              the piece is read again; nothing was written
 *   1  count the partitions of audience-syncs         the same
 *   2  write notifications, forget records,           the records are written again, the notifications
 *      suppressions and dead letters in one send      with the same message IDs; a user who was lifted in
 *                                                     between is suppressed again
 *   3  write dead letters for rejected records, and   the same; rerouted notifications are written twice
 *      reroute notifications whose topic is not
 *      writable
 *   4  mark the requests as processed                 the same, until the consumer commits
 *   5  the consumer commits periodically              nothing is repeated
 *
 * So an offset is committed only when all records of every earlier request have been acknowledged. On a graceful
 * shutdown, the stage takes no new piece, waits for the current one, finishes it and commits, so nothing is repeated.
 *
 * The partitions of `audience-syncs` are counted again for each piece. Otherwise, the user would remain in the
 * audiences of a partition that was added in the meantime. While the topic is missing or cannot be queried, requests
 * wait.
 *
 * A changed configuration applies to the next piece.
 */

import { asError } from "../../base/runtime/as-error.ts";
import { type SlowSteps, watchSlowSteps } from "../../base/runtime/slow-steps.ts";
import { countDeadLetters } from "../../base/telemetry/count-dead-letters.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { Became, DeadLettered } from "../../domain/dead-letter-records.ts";
import { describe } from "../../domain/json.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { BookedPartition } from "../ledger/stage-ledger.ts";
import { deliveryIdentity, talliedDelivery } from "../ledger/tallies.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter, type Refused, type Written } from "../stage/dead-letter-writer.ts";
import type { RunningStage, SharedStageConfig, StageDeps } from "../stage/running-stage.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import { topicsFix } from "../stage/topic-keeper.ts";
import { suppressionRecord } from "../suppression/suppression-record.ts";
import { listenersBySource } from "./affected-sources.ts";
import { type Decided, decideDeletion, forgetRecords } from "./deletion.ts";

type NotifiedLists = Pick<LiveSettings, "sources" | "destinations">;

const stage = "deletion";
const PARTITION_RECORDS_MAX = 2_000;
const LOG_LINES_PER_SECOND = 10;
/** Maximum number of unknown source IDs in a log event. The event also contains the total number. */
const IDS_LOGGED_MAX = 10;
const ASK_AGAIN_MS = 1_000;
/** If a step takes longer than this, it is reported as a health problem. */
const SLOW_STEP_MS = 5_000;

/** Starts the consumer of `deletion-requests`. The topics must exist. */
export function startDeletion(
  deps: StageDeps,
  config: NotifiedLists & SharedStageConfig,
): Promise<RunningStage> {
  const { topics } = config;
  const listenersOf = ({ sources, destinations }: NotifiedLists) =>
    listenersBySource(sources, destinations, topics);
  let listeners = listenersOf(config);
  const waits = watchSlowSteps(deps.clock, SLOW_STEP_MS);
  const writer = createWriter(deps, topics.deadLetters);
  const work = (fail: Fail): DeletionPorts => ({
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
    isAudited: true,
    consume: (fail) => [
      {
        groupId: config.groups.deletion,
        topics: [topics.deletionRequests],
        partitionRecordsMax: PARTITION_RECORDS_MAX,
        maxBytes: config.maxBytes,
        // All partitions write to the same brokers, so if one partition has to wait, the others would have to wait too.
        whenFull: "hold",
        drainLimitMs: config.drainLimitMs,
        onAssigned: (assigned) => partitionHandler(assigned, work(fail)),
      },
    ],
    healthProblems: () => [...waits.healthProblems(), ...writer.healthProblems()],
    update: (lists) => {
      listeners = listenersOf(lists);
    },
  });
  return Promise.resolve(running);
}

/** The functions that all partitions use. */
interface DeletionPorts {
  /** Counts the partitions of `audience-syncs`. Null if the signal aborts before the number is known. */
  readonly countPartitions: (signal: AbortSignal) => Promise<number | null>;
  /** Removes a piece from the beginning of the waiting requests. */
  readonly cut: (waiting: IncomingRecord[], partitions: number) => Piece;
  /** Resolves when all records of the piece have been acknowledged. */
  readonly write: (piece: Piece) => Promise<Pick<Written, "instead">>;
  readonly fail: Fail;
}

function partitionHandler(assigned: BookedPartition, work: DeletionPorts): PartitionHandler {
  const waiting: IncomingRecord[] = [];
  const draining = new AbortController();
  let writing: Promise<void> = Promise.resolve();

  const carryOut = async (piece: Piece) => {
    const { instead } = await work.write(piece);
    for (const { record, decided } of piece.requests) {
      const notifications = decided.kind === "deletion" ? decided.notifications : [];
      for (const { outgoing } of notifications) {
        const delivery = talliedDelivery(outgoing);
        const outcome = instead.get(outgoing) ?? "queued";
        assigned.book?.add(delivery.destination, outcome, deliveryIdentity(delivery));
      }
      assigned.finish(record.offset);
    }
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
      // A failure is reported by `working`.
      await writing.catch(() => undefined);
    },
  };
}

function createPartitionCount(
  { kafka, clock, log }: StageDeps,
  topic: string,
  waits: SlowSteps,
): DeletionPorts["countPartitions"] {
  const count = async (): Promise<number | Error> => {
    try {
      const [state] = await kafka.admin.describe([topic], []);
      if (state !== undefined) return state.partitions;
      await kafka.admin.assertVisible([topic]);
      return new Error("the topic does not exist");
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
  const what = `deletion requests cannot be processed, because the number of partitions of ${topic} has been unknown`;
  return (signal) => waits.during(what, untilKnown(signal));
}

type Writer = Pick<DeletionPorts, "write"> & Pick<RunningStage, "healthProblems">;

/** Writes pieces, counts the written records, and reports dead letters. */
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
      return written;
    },
  };
}

/** Counts a piece after it has been written, and logs unknown sources. */
function createReport({
  metrics,
  log,
  clock,
}: StageDeps): (piece: Piece, refused: Refused) => void {
  const recordsIn = metrics.recordsIn.bind({ stage });
  const unheard = metrics.deletionsUnheard.bind({});
  const lines = new LineLimit(LOG_LINES_PER_SECOND);
  return ({ requests }, refused) => {
    recordsIn.inc(requests.length);
    for (const { decided } of requests) {
      if (decided.kind === "unusable") continue;
      const { notifications, withoutUserId, unknownSources, record } = decided;
      if (notifications.length === 0) unheard.inc();
      for (const { destination, outgoing } of notifications) {
        if (!refused.has(outgoing)) metrics.deletesWritten.bind({ destination }).inc();
      }
      for (const destination of withoutUserId) metrics.deletesSkipped.bind({ destination }).inc();
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

/**
 * Selects the requests that are carried out together: at least one request, and then as many as fit into one send. A
 * request becomes one record per notification, and one record per partition of `audience-syncs`.
 */

/** Maximum number of records in one send, unless a single request becomes more records. */
const PIECE_RECORDS_MAX = 2_000;

interface Piece {
  readonly requests: readonly InFlightRequest[];
  /** The dead letters of requests that cannot be carried out. */
  readonly deadLettered: readonly DeadLettered[];
}

interface InFlightRequest extends Became {
  readonly decided: Decided;
}

interface PieceOptions {
  readonly decide: (record: IncomingRecord) => Decided;
  readonly topics: Pick<TopicNames, "audienceSyncs" | "suppressions">;
  /** Number of partitions of `audience-syncs`. */
  readonly partitions: number;
}

/** Removes and returns a piece from the start of `waiting`, which must not be empty. */
function nextPiece(waiting: IncomingRecord[], options: PieceOptions): Piece {
  const requests: InFlightRequest[] = [];
  const deadLettered: DeadLettered[] = [];
  let count = 0;
  while (count < PIECE_RECORDS_MAX) {
    const record = waiting.shift();
    if (record === undefined) break;
    const decided = options.decide(record);
    const records = becomes(decided, options);
    requests.push({ record, decided, records });
    if (decided.kind === "unusable") deadLettered.push(decided);
    // A request counts even if it has no records, so that the number of requests in a piece is bounded.
    count += 1 + records.length;
  }
  return { requests, deadLettered };
}

function becomes(
  decided: Decided,
  { topics, partitions }: PieceOptions,
): readonly OutgoingRecord[] {
  if (decided.kind === "unusable") return [];
  const notifications = decided.notifications.map(({ outgoing }) => outgoing);
  const { forgets, suppression } = decided;
  const forgotten =
    forgets === null ? [] : forgetRecords(forgets, topics.audienceSyncs, partitions);
  const suppressed =
    suppression === null ? [] : [suppressionRecord(topics.suppressions, suppression)];
  return [...notifications, ...forgotten, ...suppressed];
}
