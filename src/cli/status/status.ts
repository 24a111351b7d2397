/**
 * The part of `switchyard status` that is read from Kafka: records that wait for each stage and
 * destination, records in the delay topics, and dead letters. Nothing is joined or committed.
 */

import type { Config } from "../../config/config.ts";
import { EVERY_LETTER } from "../../dead-letter/filter.ts";
import { letterRanges, readLetters, readMarks } from "../../dead-letter/read-letters.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { STAGE_NAMES, STAGES, type StageRow } from "../../domain/stages.ts";
import {
  type GroupNames,
  groupNames,
  type TopicNames,
  tierDelayMs,
  tierName,
} from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { configuredTopics } from "../connection.ts";
import { countTiers, type InTiers } from "./tiers.ts";
import { earliest, type Reading, type Waiting, waitingIn } from "./waiting.ts";

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
  /** Deliveries that were not attempted yet. Null: its topic does not exist. */
  readonly line: Waiting | null;
  /** Deliveries that were attempted and are due again. */
  readonly returns: Waiting | null;
  readonly isRemoved: boolean;
}

export interface TierStatus {
  readonly tier: string;
  readonly waiting: Waiting | null;
  /** Not configured any more: only drained. */
  readonly isRetired: boolean;
}

export interface LettersStatus {
  /** All that retention has left. */
  readonly retained: number;
  /** Of the last 24 hours. */
  readonly lastDay: number;
  /** Of the last day; null where there are too many to be read in time. */
  readonly counts: {
    readonly byReason: ReadonlyMap<string, number>;
    readonly byDestination: ReadonlyMap<string, number>;
    /** Those that were replayed since. */
    readonly replayed: number;
  } | null;
}

export interface KafkaStatus {
  readonly stages: readonly StageStatus[];
  readonly destinations: readonly DestinationWaiting[];
  readonly tiers: readonly TierStatus[];
  /** By destination; null: they are too many to be counted in time. */
  readonly inTiers: ReadonlyMap<string, InTiers> | null;
  /** Null: there is no such topic yet. */
  readonly letters: LettersStatus | null;
}

const DAY_MS = 86_400_000;
/** Reading more would take longer than anybody waits for a status. */
const COUNTED_LETTERS_MAX = 200_000;
const LETTERS_LIMIT_MS = 1_500;

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
  const tiers = tiersOf(config, places);
  const stages = stagesOf(places);
  const destinations = destinationsOf(options, places);
  const readings = [
    ...tiers.map(({ reading }) => reading),
    ...stages.map(({ reading }) => reading),
    ...destinations.flatMap(({ line, returns }) => [line, returns]),
  ];
  const hasLetters = existing.has(topics.deadLetters);
  const there = tiers.filter(({ reading }) => existing.has(reading.topic)).map(({ tier }) => tier);
  const ids = config.destinations.map(({ id }) => id);
  const [found, inTiers, counted] = await Promise.all([
    waitingIn(
      kafka,
      readings.filter(({ topic }) => existing.has(topic)),
      signal,
    ),
    countTiers({ ...options, topics, groups, tiers: there, destinations: ids }),
    hasLetters ? letters(options, topics) : null,
  ]);
  const waiting = ({ topic }: Reading) => found.get(topic) ?? null;
  const waitingTiers = tiers.map(({ tier, isRetired, reading }) => {
    return { tier, isRetired, waiting: waiting(reading) };
  });
  return {
    stages: [
      ...stages.map(({ stage, reading }) => stageStatus(stage, waiting(reading), reading.topic)),
      {
        stage: "delay",
        waiting: sumOf(waitingTiers.flatMap((tier) => tier.waiting ?? [])),
        note: null,
      },
    ],
    destinations: destinations
      .map(({ line, returns, ...each }) => {
        const { topic } = line;
        return { ...each, topic, line: waiting(line), returns: waiting(returns) };
      })
      .filter((each) => !each.isRemoved || recordsOf(each) > 0),
    tiers: waitingTiers,
    inTiers,
    letters: counted,
  };
}

function recordsOf({ line, returns }: DestinationWaiting): number {
  return (line?.records ?? 0) + (returns?.records ?? 0);
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

function stageStatus(stage: string, waiting: Waiting | null, topic: string): StageStatus {
  const note = waiting === null ? `the topic ${topic} does not exist` : null;
  return { stage, waiting, note };
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
        returns: { groupId, topic: topics.returns(id) },
      };
    });
}

/** Configured tiers in their order, each once, then those whose topics are still there. */
function tiersOf(config: Config, { topics, groups, existing }: Places) {
  const configured = [...new Set(config.delivery.delaysMs.map(tierName))];
  const start = `${topics.prefix}delays.`;
  const retired = [...existing]
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((tier) => tierDelayMs(tier) !== null && !configured.includes(tier))
    .sort((one, other) => (tierDelayMs(one) ?? 0) - (tierDelayMs(other) ?? 0));
  return [...configured, ...retired].map((tier) => ({
    tier,
    isRetired: !configured.includes(tier),
    reading: { groupId: groups.delay(tier), topic: `${start}${tier}` },
  }));
}

function sumOf(all: readonly Waiting[]): Waiting {
  const times = (of: (waiting: Waiting) => number | null) =>
    earliest(all.map(of).filter((atMs) => atMs !== null));
  return {
    records: all.reduce((sum, { records }) => sum + records, 0),
    oldestAtMs: times(({ oldestAtMs }) => oldestAtMs),
    dueAtMs: times(({ dueAtMs }) => dueAtMs),
    damaged: all.flatMap(({ damaged }) => damaged),
  };
}

async function letters(options: StatusOptions, topics: TopicNames): Promise<LettersStatus> {
  const { kafka, signal, nowMs } = options;
  const size = (ranges: readonly { readonly from: number; readonly to: number }[]) =>
    ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  const sinceMs = nowMs - DAY_MS;
  const recent = await letterRanges(kafka, topics.deadLetters, sinceMs);
  const retained = size(await letterRanges(kafka, topics.deadLetters, null));
  if (size(recent) > COUNTED_LETTERS_MAX) return { retained, lastDay: size(recent), counts: null };
  const byReason = new Map<string, number>();
  const byDestination = new Map<string, number>();
  let lastDay = 0;
  let replayed = 0;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LETTERS_LIMIT_MS)]);
  const source = { kafka, topics, signal: limited };
  const marks = await readMarks(source);
  for await (const letter of readLetters(source, recent, { ...EVERY_LETTER, sinceMs })) {
    lastDay += 1;
    if (marks.of(letter.record) !== null) replayed += 1;
    add(byReason, letter.reason);
    if (letter.destination !== null) add(byDestination, letter.destination);
  }
  if (limited.aborted) return { retained, lastDay: size(recent), counts: null };
  return { retained, lastDay, counts: { byReason, byDestination, replayed } };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
