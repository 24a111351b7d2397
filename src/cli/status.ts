/**
 * What `switchyard status` reads from Kafka: what waits for each stage and destination, what waits
 * in the delay topics, and what was given up. Nothing is joined and nothing is committed.
 */

import type { Config } from "../config/config.ts";
import { EVERY_LETTER } from "../dead-letter/filter.ts";
import { letterRanges, readLetters } from "../dead-letter/stage.ts";
import type { DestinationId } from "../domain/ids.ts";
import { groupNames, type TopicNames, tierDelayMs, tierName } from "../domain/topics.ts";
import type { Kafka } from "../kafka/port.ts";
import { configuredTopics } from "./connection.ts";
import { earliest, type Waiting, waitingIn } from "./waiting.ts";

export interface StageStatus {
  readonly stage: string;
  /** Null for stages that all destinations share. */
  readonly destination: string | null;
  /** Null where it cannot be told; `note` says why. */
  readonly waiting: Waiting | null;
  readonly note: string | null;
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
  /** Of the last day; null where there are too many to be read. */
  readonly counts: {
    readonly byReason: ReadonlyMap<string, number>;
    readonly byDestination: ReadonlyMap<string, number>;
  } | null;
}

export interface KafkaStatus {
  readonly stages: readonly StageStatus[];
  readonly tiers: readonly TierStatus[];
  /** Null: there is no such topic yet. */
  readonly letters: LettersStatus | null;
}

const DAY_MS = 86_400_000;
/** Reading more would take longer than anybody waits for a status. */
const COUNTED_LETTERS_MAX = 200_000;

export interface StatusOptions {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export async function kafkaStatus(options: StatusOptions): Promise<KafkaStatus> {
  const { kafka, config } = options;
  const topics = configuredTopics(config);
  const existing = new Set(await kafka.admin.topics());
  const look = async (groupId: string, topic: string): Promise<Waiting | null> =>
    existing.has(topic) ? waitingIn(kafka, groupId, topic, options.signal) : null;
  const groups = groupNames(config.kafka.topicPrefix);
  const tiers: TierStatus[] = [];
  for (const { tier, isRetired } of tiersOf(config, topics, existing)) {
    const waiting = await look(groups.delay(tier), `${topics.prefix}delays.${tier}`);
    tiers.push({ tier, waiting, isRetired });
  }
  const requests = topics.deletionRequests;
  const syncs = topics.audienceSyncs;
  const stages: StageStatus[] = [
    stage("route", null, await look(groups.route, topics.calls), topics.calls),
    stage("audience", null, await look(groups.audience, syncs), syncs),
    stage("deletion", null, await look(groups.deletion, requests), requests),
  ];
  for (const { id, kind, enabled } of config.destinations) {
    const topic = topics.deliveries(id);
    if (kind === "topic") {
      const note = "type topic: whoever reads it knows";
      stages.push({ stage: "-", destination: id, waiting: null, note });
      continue;
    }
    const found = stage("deliver", id, await look(groups.deliver(id), topic), topic);
    const note = enabled ? found.note : "disabled: its deliveries wait without attempts";
    stages.push({ ...found, note });
  }
  stages.push(...(await removed(config, topics, existing, look)));
  const sum = sumOf(tiers.flatMap(({ waiting }) => waiting ?? []));
  stages.push({ stage: "delay", destination: null, waiting: sum, note: null });
  const hasLetters = existing.has(topics.deadLetters);
  return { stages, tiers, letters: hasLetters ? await letters(options, topics) : null };
}

function stage(
  name: string,
  destination: string | null,
  waiting: Waiting | null,
  topic: string,
): StageStatus {
  const note = waiting === null ? `the topic ${topic} does not exist` : null;
  return { stage: name, destination, waiting, note };
}

/** Configured tiers in their order, each once, then those whose topics are still there. */
function tiersOf(
  config: Config,
  topics: TopicNames,
  existing: ReadonlySet<string>,
): readonly { readonly tier: string; readonly isRetired: boolean }[] {
  const configured = [...new Set(config.delivery.delaysMs.map(tierName))];
  const start = `${topics.prefix}delays.`;
  const retired = [...existing]
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((tier) => tierDelayMs(tier) !== null && !configured.includes(tier))
    .sort((one, other) => (tierDelayMs(one) ?? 0) - (tierDelayMs(other) ?? 0));
  return [
    ...configured.map((tier) => ({ tier, isRetired: false })),
    ...retired.map((tier) => ({ tier, isRetired: true })),
  ];
}

/** Destinations that were removed from the configuration and whose topics still hold records. */
async function removed(
  config: Config,
  topics: TopicNames,
  existing: ReadonlySet<string>,
  look: (groupId: string, topic: string) => Promise<Waiting | null>,
): Promise<readonly StageStatus[]> {
  const start = topics.deliveries("" as DestinationId);
  const groups = groupNames(config.kafka.topicPrefix);
  const found: StageStatus[] = [];
  for (const topic of [...existing].filter((name) => name.startsWith(start)).sort()) {
    const id = topic.slice(start.length) as DestinationId;
    if (config.destinations.some((destination) => destination.id === id)) continue;
    const waiting = await look(groups.deliver(id), topic);
    if (waiting === null || waiting.records === 0) continue;
    const note = "not configured: what is left stays until the id comes back";
    found.push({ stage: "deliver", destination: id, waiting, note });
  }
  return found;
}

function sumOf(all: readonly Waiting[]): Waiting {
  const times = (of: (waiting: Waiting) => number | null) =>
    earliest(all.map(of).filter((atMs) => atMs !== null));
  return {
    records: all.reduce((sum, { records }) => sum + records, 0),
    oldestAtMs: times(({ oldestAtMs }) => oldestAtMs),
    dueAtMs: times(({ dueAtMs }) => dueAtMs),
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
  const source = { kafka, topics, signal };
  for await (const letter of readLetters(source, recent, { ...EVERY_LETTER, sinceMs })) {
    lastDay += 1;
    add(byReason, letter.reason);
    if (letter.destination !== null) add(byDestination, letter.destination);
  }
  return { retained, lastDay, counts: { byReason, byDestination } };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
