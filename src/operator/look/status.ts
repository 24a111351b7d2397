/**
 * Reads the part of `switchyard status` that comes from Kafka: unprocessed records of each stage and destination,
 * records in the delay topics, and dead letters. It joins no group and commits nothing.
 *
 *   a part                                                   result
 *   is about a topic that does not exist                     its note reports that
 *   is not permitted, has no leader, or its broker is        its note and `errors` have the reason, and the other parts
 *     unreachable                                            are complete
 *   any: no broker responds                                  throws
 */

import { asError } from "../../base/runtime/as-error.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import type { Config } from "../../config/config.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { STAGE_NAMES, STAGES, type StageRow } from "../../domain/stages.ts";
import { delayName, type GroupNames, groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { Reading } from "../../kafka/uncommitted-ranges.ts";
import type { Pause } from "../../router/control/operator-actions.ts";
import { countMoved, isFirstOf, wasRetried } from "../../router/delay/scan-awaiting-retry.ts";
import { configuredTopics, knownDelays } from "../connect/connection.ts";
import { EVERY_DEAD_LETTER } from "../replay/dead-letter-record.ts";
import {
  type DeadLetterSource,
  deadLetterRanges,
  readDeadLetters,
  readMarks,
} from "../replay/read-dead-letters.ts";
import type { ReplayMarks } from "../replay/replay-marks.ts";
import { type AwaitingRetry, type CountedDelays, countAwaitingRetry } from "./delay-topics.ts";
import { earliest, type UnprocessedRecords, type WaitingIn, waitingIn } from "./waiting.ts";

/** The unprocessed records of a stage that all destinations share. */
export interface StageStatus {
  readonly stage: string;
  /** Null if the number is unknown. The reason is then in `note`. */
  readonly waiting: UnprocessedRecords | null;
  readonly note: string | null;
}

/** The unprocessed records of a configured destination, or of a removed one that still has records. */
export interface DestinationWaiting {
  readonly destination: string;
  /** The topic of the destination's queue. */
  readonly topic: string;
  /** Deliveries that have not been attempted yet. Null if the topic does not exist, or if the number is unknown. */
  readonly line: UnprocessedRecords | null;
  /** Deliveries that are due for a retry. */
  readonly retries: UnprocessedRecords | null;
  readonly isRemoved: boolean;
  /** The reason, if something is unknown. Null if everything is known, or if the topic does not exist. */
  readonly error: string | null;
}

export interface DelayTopicStatus {
  readonly delay: string;
  readonly waiting: UnprocessedRecords | null;
  /** True if the delay is no longer configured, so that its topic is only drained. */
  readonly isRetired: boolean;
  /** The reason, if the number is unknown. */
  readonly note: string | null;
}

export interface DeadLettersStatus {
  /** All dead letters within the topic's retention. */
  readonly retained: number;
  /** Dead letters of the last 24 hours. */
  readonly lastDay: number;
  /** Counts by reason for the last 24 hours; null if there are too many dead letters to read in time. */
  readonly counts: {
    readonly byReason: ReadonlyMap<string, number>;
    readonly byDestination: ReadonlyMap<string, number>;
    /** How many of these dead letters have been replayed; null if unknown. */
    readonly replayed: number | null;
  } | null;
}

export interface KafkaStatus {
  readonly stages: readonly StageStatus[];
  readonly destinations: readonly DestinationWaiting[];
  readonly delayTopics: readonly DelayTopicStatus[];
  /** Counts by destination; null if there are too many deliveries to count in time, or if they cannot be read. */
  readonly awaitingRetry: ReadonlyMap<string, AwaitingRetry> | null;
  /** The delays for which all deliveries were counted, so that their numbers are exact. */
  readonly countedDelays: ReadonlySet<string>;
  /** The pauses by operators that are in force. */
  readonly pauses: readonly Pause[];
  /** Null if the topic does not exist yet, or if the number is unknown. */
  readonly deadLetters: DeadLettersStatus | null;
  /**
   * The reasons why `awaitingRetry` and `deadLetters` are incomplete. Null if they are complete, or if there was too
   * much to read.
   */
  readonly notes: { readonly awaitingRetry: string | null; readonly deadLetters: string | null };
  /** The parts that could not be read, with the reasons. Each part is listed once. */
  readonly errors: readonly string[];
}

const DAY_MS = 86_400_000;
/** Reading more dead letters than this would take longer than an operator waits for a status. */
const COUNTED_DEAD_LETTERS_MAX = 200_000;
const DEAD_LETTERS_LIMIT_MS = 1_500;
const MOVED_LIMIT_MS = 1_500;

export interface StatusOptions {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** If set, only this destination is read; null for all. */
  readonly destination?: string | null;
}

export async function kafkaStatus(options: StatusOptions): Promise<KafkaStatus> {
  const { kafka, config, signal } = options;
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const existing = new Set(await kafka.admin.topics());
  const places = { topics, groups, existing };
  const delays = delaysOf(config, places);
  const stages = stagesOf(places);
  const destinations = destinationsOf(options, places);
  const readings = [
    ...delays.map(({ reading }) => reading),
    ...stages.map(({ reading }) => reading),
    ...destinations.flatMap(({ line, retries }) => [line, retries]),
  ];
  const ids = config.destinations.map(({ id }) => id);
  const names = delays.map(({ delay }) => delay);
  const [found, counted, deadLetters] = await Promise.all([
    waitingIn(kafka, readings, signal),
    countAwaitingRetry({ ...options, topics, groups, delays: names, destinations: ids }),
    deadLettersOf(options, topics),
  ]);
  const of = ({ topic }: Reading): WaitingIn =>
    found.get(topic) ?? { waiting: null, error: null, parts: [] };
  const moved = await movedIn(options, destinations, of, counted);
  const delayTopics = delays.map((each) => delayTopicStatus(each, of(each.reading), counted));
  const [awaitingRetryNote = null] = counted.errors;
  return {
    stages: [
      ...stages.map(({ stage, reading }) => stageStatus(stage, of(reading), reading.topic)),
      {
        stage: "delay",
        waiting: sumOf(delayTopics.flatMap((delay) => delay.waiting ?? [])),
        note: null,
      },
    ],
    destinations: destinations
      .map(({ line, retries, ...each }) => {
        const [queued, again] = [of(line), of(retries)];
        const error = queued.error ?? again.error;
        const less = ({ waiting }: WaitingIn, reading: Reading) =>
          waiting && { ...waiting, records: waiting.records - (moved.get(reading) ?? 0) };
        const counts = { line: less(queued, line), retries: less(again, retries) };
        return { ...each, topic: line.topic, ...counts, error };
      })
      .filter((each) => !each.isRemoved || recordsOf(each) > 0 || each.error !== null),
    delayTopics,
    awaitingRetry: counted.byDestination,
    countedDelays: new Set(counted.byDelay.keys()),
    pauses: counted.pauses,
    deadLetters: deadLetters.status,
    notes: { awaitingRetry: awaitingRetryNote, deadLetters: deadLetters.note },
    errors: [
      ...new Set([
        ...[...found.values()].flatMap(({ error }) => error ?? []),
        ...counted.errors,
        ...deadLetters.errors,
      ]),
    ],
  };
}

/**
 * Uses the number that was counted record by record, if there is one. Otherwise, it uses the number of offsets,
 * which includes records that were taken out early.
 */
function delayTopicStatus(
  { delay, isRetired, reading }: ReturnType<typeof delaysOf>[number],
  { waiting, error }: WaitingIn,
  { byDelay }: CountedDelays,
): DelayTopicStatus {
  const tally = byDelay.get(delay);
  const note = waiting === null ? (error ?? missing(reading.topic)) : error;
  if (waiting === null || tally === undefined) return { delay, isRetired, waiting, note };
  const finite = (atMs: number) => (Number.isFinite(atMs) ? atMs : null);
  const [oldestAtMs, dueAtMs] = [finite(tally.scheduledAtMs), finite(tally.dueAtMs)];
  const exact = { records: tally.count, oldestAtMs, dueAtMs, corrupt: waiting.corrupt };
  return { delay, isRetired, waiting: exact, note };
}

function missing(topic: string): string {
  return `the topic ${topic} does not exist`;
}

function recordsOf({ line, retries }: DestinationWaiting): number {
  return (line?.records ?? 0) + (retries?.records ?? 0);
}

/**
 * Counts the deliveries of each topic that were already counted in a topic to which they moved. Offsets are requested
 * before the delay topics are read, so a delivery that moves meanwhile is counted once.
 */
async function movedIn(
  { kafka, signal }: StatusOptions,
  destinations: ReturnType<typeof destinationsOf>,
  of: (reading: Reading) => WaitingIn,
  { seen, byDestination }: CountedDelays,
): Promise<ReadonlyMap<Reading, number>> {
  using late = hearingLimit(MOVED_LIMIT_MS, signal);
  const moved = new Map<Reading, number>();
  for (const { destination, line, retries } of destinations) {
    if (late.signal.aborted) break;
    const due = of(retries).parts;
    if (due.length === 0 && byDestination?.has(destination) === false) continue;
    const again = (record: IncomingRecord) => !isFirstOf(record, seen);
    moved.set(retries, await countMoved(kafka, due, again, late.signal));
    const retried = (record: IncomingRecord) => wasRetried(record, seen);
    moved.set(line, await countMoved(kafka, of(line).parts, retried, late.signal));
  }
  return moved;
}

/** The names of topics and groups, and which topics exist. */
interface Places {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly existing: ReadonlySet<string>;
}

/** The stages with one topic that all destinations share. */
function stagesOf({ topics, groups }: Places) {
  return STAGE_NAMES.flatMap((stage) => {
    const { input }: StageRow = STAGES[stage];
    if (input?.per !== "stage") return [];
    return [{ stage, reading: { groupId: groups[input.group], topic: topics[input.topic] } }];
  });
}

function stageStatus(stage: string, { waiting, error }: WaitingIn, topic: string): StageStatus {
  return { stage, waiting, note: waiting === null ? (error ?? missing(topic)) : error };
}

/** The configured destinations, followed by removed ones whose topics still exist. */
function destinationsOf(
  { config, destination }: StatusOptions,
  { topics, groups, existing }: Places,
) {
  const start = topics.deliveries("" as DestinationId);
  const configured = new Set(config.destinations.map(({ id }) => id));
  const removed = [...existing]
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length) as DestinationId)
    .filter((id) => !configured.has(id))
    .sort();
  return [...configured, ...removed]
    .filter((id) => destination === undefined || destination === null || id === destination)
    .map((id) => {
      const groupId = groups.deliver(id);
      return {
        destination: id,
        isRemoved: !configured.has(id),
        line: { groupId, topic: topics.deliveries(id) },
        retries: { groupId, topic: topics.retries(id) },
      };
    });
}

/** The configured delays in their order, without duplicates, followed by other delays whose topics still exist. */
function delaysOf(config: Config, { topics, groups, existing }: Places) {
  const configured = config.delivery.retryDelaysMs.map(delayName);
  return knownDelays(config, existing).map((delay) => ({
    delay,
    isRetired: !configured.includes(delay),
    reading: { groupId: groups.delay(delay), topic: `${topics.prefix}delays.${delay}` },
  }));
}

function sumOf(all: readonly UnprocessedRecords[]): UnprocessedRecords {
  const times = (of: (waiting: UnprocessedRecords) => number | null) =>
    earliest(all.map(of).filter((atMs) => atMs !== null));
  return {
    records: all.reduce((sum, { records }) => sum + records, 0),
    oldestAtMs: times(({ oldestAtMs }) => oldestAtMs),
    dueAtMs: times(({ dueAtMs }) => dueAtMs),
    corrupt: all.flatMap(({ corrupt }) => corrupt),
  };
}

interface FoundDeadLetters {
  readonly status: DeadLettersStatus | null;
  readonly note: string | null;
  readonly errors: readonly string[];
}

/** Does not reject if a permission is missing, so that the rest of the status can be shown. */
async function deadLettersOf(
  options: StatusOptions,
  topics: TopicNames,
): Promise<FoundDeadLetters> {
  const { kafka, signal, nowMs } = options;
  const { deadLetters: topic } = topics;
  const unknown = (error: string, status: DeadLettersStatus | null = null): FoundDeadLetters => {
    return { status, note: error, errors: [error] };
  };
  let error: string | null = null;
  const onUnknown = (_topic: string, why: Error) => {
    error = why.message;
  };
  const exists = (await kafka.admin.offsetsOf([topic], onUnknown)).has(topic);
  if (error !== null) return unknown(error);
  if (!exists) return { status: null, note: missing(topic), errors: [] };
  const recent = await deadLetterRanges(kafka, topic, nowMs - DAY_MS);
  const retained = sizeOf(await deadLetterRanges(kafka, topic, null));
  const uncounted = { retained, lastDay: sizeOf(recent), counts: null };
  if (sizeOf(recent) > COUNTED_DEAD_LETTERS_MAX)
    return { status: uncounted, note: null, errors: [] };
  using late = hearingLimit(DEAD_LETTERS_LIMIT_MS, signal);
  const source = { kafka, topics, signal: late.signal };
  try {
    const marks = await readMarks(source, recent).catch((thrown: unknown) => {
      error = asError(thrown).message;
      return null;
    });
    const counts = await countDeadLetters(source, recent, nowMs - DAY_MS, marks);
    const status = late.signal.aborted ? uncounted : { retained, ...counts };
    return error === null ? { status, note: null, errors: [] } : unknown(error, status);
  } catch (thrown) {
    return unknown(asError(thrown).message, uncounted);
  }
}

function sizeOf(ranges: readonly { readonly from: number; readonly to: number }[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

async function countDeadLetters(
  source: DeadLetterSource,
  recent: Awaited<ReturnType<typeof deadLetterRanges>>,
  sinceMs: number,
  marks: ReplayMarks | null,
): Promise<Pick<DeadLettersStatus, "lastDay" | "counts">> {
  const byReason = new Map<string, number>();
  const byDestination = new Map<string, number>();
  let lastDay = 0;
  let replayed = 0;
  for await (const deadLetter of readDeadLetters(source, recent, {
    ...EVERY_DEAD_LETTER,
    sinceMs,
  })) {
    lastDay += 1;
    if (marks !== null && marks.of(deadLetter.record) !== null) replayed += 1;
    add(byReason, deadLetter.reason);
    if (deadLetter.destination !== null) add(byDestination, deadLetter.destination);
  }
  return { lastDay, counts: { byReason, byDestination, replayed: marks && replayed } };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
