/**
 * The part of `switchyard status` that is read from Kafka: records that wait for each stage and
 * destination, records in the delay topics, and dead letters. Nothing is joined or committed.
 *
 *   a part of it                                             then
 *   is about a topic that does not exist                     its note says so
 *   may not be read, has no leader, its broker is silent     its note says so, `errors` has it, and
 *                                                            the others are there
 *   is all of it: no broker answers                          throws
 */

import type { Config } from "../../config/config.ts";
import type { Pause } from "../../control/operator-actions.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { STAGE_NAMES, STAGES, type StageRow } from "../../domain/stages.ts";
import { delayName, type GroupNames, groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { Reading } from "../../kafka/uncommitted-ranges.ts";
import { asError } from "../../runtime/as-error.ts";
import { hearingLimit } from "../../runtime/hearing-limit.ts";
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
import { earliest, type Waiting, type WaitingIn, waitingIn } from "./waiting.ts";

/** A stage that all destinations share. */
export interface StageStatus {
  readonly stage: string;
  /** Null where it cannot be told; `note` says why. */
  readonly waiting: Waiting | null;
  readonly note: string | null;
}

/** A destination of the configuration, or one that was removed with records left. */
export interface DestinationWaiting {
  readonly destination: string;
  /** Of its line. */
  readonly topic: string;
  /** Deliveries that were not attempted yet. Null: its topic does not exist, or is not known. */
  readonly line: Waiting | null;
  /** Deliveries that were attempted and are due again. */
  readonly retries: Waiting | null;
  readonly isRemoved: boolean;
  /** Why something of it is not known; null: all is, or its topic does not exist. */
  readonly error: string | null;
}

export interface DelayTopicStatus {
  readonly delay: string;
  readonly waiting: Waiting | null;
  /** Not configured any more: only drained. */
  readonly isRetired: boolean;
  /** Why it is not known. */
  readonly note: string | null;
}

export interface DeadLettersStatus {
  /** All that retention has left. */
  readonly retained: number;
  /** Of the last 24 hours. */
  readonly lastDay: number;
  /** Of the last day; null where there are too many to be read in time. */
  readonly counts: {
    readonly byReason: ReadonlyMap<string, number>;
    readonly byDestination: ReadonlyMap<string, number>;
    /** Those that were replayed since; null: not known. */
    readonly replayed: number | null;
  } | null;
}

export interface KafkaStatus {
  readonly stages: readonly StageStatus[];
  readonly destinations: readonly DestinationWaiting[];
  readonly delayTopics: readonly DelayTopicStatus[];
  /** By destination; null: they are too many to be counted in time, or cannot be read. */
  readonly awaitingRetry: ReadonlyMap<string, AwaitingRetry> | null;
  /** Tiers of which all was counted: their numbers are exact. */
  readonly countedDelays: ReadonlySet<string>;
  /** Those that operators asked for, and that are in force. */
  readonly pauses: readonly Pause[];
  /** Null: there is no such topic yet, or it is not known. */
  readonly deadLetters: DeadLettersStatus | null;
  /** Why something of `inTiers` and `deadLetters` is not known; null: all is, or it was too much. */
  readonly notes: { readonly awaitingRetry: string | null; readonly deadLetters: string | null };
  /** The parts that could not be read, and why, each once. */
  readonly errors: readonly string[];
}

const DAY_MS = 86_400_000;
/** Reading more would take longer than anybody waits for a status. */
const COUNTED_DEAD_LETTERS_MAX = 200_000;
const DEAD_LETTERS_LIMIT_MS = 1_500;

export interface StatusOptions {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** Only this one; null: all. */
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
  const of = ({ topic }: Reading): WaitingIn => found.get(topic) ?? { waiting: null, error: null };
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
        const counts = { line: queued.waiting, retries: again.waiting };
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

/** As it was counted, record by record; else by offsets, with records that a retry took out early. */
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

/** The names of topics and groups, and the topics that exist. */
interface Places {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly existing: ReadonlySet<string>;
}

/** Those with one topic that all destinations share. */
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

/** Those of the configuration, then those whose topics are still there. */
function destinationsOf(
  { config, destination }: StatusOptions,
  { topics, groups, existing }: Places,
) {
  const start = topics.deliveries("" as DestinationId);
  const configured = config.destinations.map(({ id }) => id);
  const removed = [...existing]
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length) as DestinationId)
    .filter((id) => !configured.includes(id))
    .sort();
  return [...configured, ...removed]
    .filter((id) => destination === undefined || destination === null || id === destination)
    .map((id) => {
      const groupId = groups.deliver(id);
      return {
        destination: id,
        isRemoved: !configured.includes(id),
        line: { groupId, topic: topics.deliveries(id) },
        retries: { groupId, topic: topics.retries(id) },
      };
    });
}

/** Configured tiers in their order, each once, then those whose topics are still there. */
function delaysOf(config: Config, { topics, groups, existing }: Places) {
  const configured = config.delivery.retryDelaysMs.map(delayName);
  return knownDelays(config, existing).map((delay) => ({
    delay,
    isRetired: !configured.includes(delay),
    reading: { groupId: groups.delay(delay), topic: `${topics.prefix}delays.${delay}` },
  }));
}

function sumOf(all: readonly Waiting[]): Waiting {
  const times = (of: (waiting: Waiting) => number | null) =>
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

/** Never rejects for a right that is missing: the rest of the status is there. */
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
  using late = hearingLimit(DEAD_LETTERS_LIMIT_MS);
  const limited = AbortSignal.any([signal, late.signal]);
  const source = { kafka, topics, signal: limited };
  try {
    const marks = await readMarks(source).catch((thrown: unknown) => {
      error = asError(thrown).message;
      return null;
    });
    const counts = await countDeadLetters(source, recent, nowMs - DAY_MS, marks);
    const status = limited.aborted ? uncounted : { retained, ...counts };
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
