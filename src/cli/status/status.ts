/**
 * The part of `switchyard status` that is read from Kafka: records that wait for each stage and
 * destination, records in the delay topics, and dead letters. Nothing is joined or committed.
 */

import type { Config } from "../../config/config.ts";
import { EVERY_LETTER } from "../../dead-letter/filter.ts";
import { letterRanges, readLetters } from "../../dead-letter/read-letters.ts";
import { stillness } from "../../deliver/prepare.ts";
import type { DestinationId } from "../../domain/ids.ts";
import {
  STAGE_NAMES,
  STAGES,
  type StageInput,
  type StageName,
  type StageRow,
} from "../../domain/stages.ts";
import {
  type GroupNames,
  groupNames,
  type TopicNames,
  tierDelayMs,
  tierName,
} from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { configuredTopics } from "../connection.ts";
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
  const found = { config, topics, groups, existing, look, tiers };
  const stages: StageStatus[] = [];
  for (const name of STAGE_NAMES) {
    const { input }: StageRow = STAGES[name];
    if (input === null) continue;
    stages.push(...(await rowsOf(name, input, found)));
  }
  const hasLetters = existing.has(topics.deadLetters);
  return { stages, tiers, letters: hasLetters ? await letters(options, topics) : null };
}

/** The facts from which the rows of stages are made. */
interface Found {
  readonly config: Config;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly existing: ReadonlySet<string>;
  readonly look: (groupId: string, topic: string) => Promise<Waiting | null>;
  readonly tiers: readonly TierStatus[];
}

async function rowsOf(
  name: StageName,
  input: StageInput,
  found: Found,
): Promise<readonly StageStatus[]> {
  const { topics, groups, look, tiers } = found;
  switch (input.per) {
    case "stage": {
      const topic = topics[input.topic];
      return [stage(name, null, await look(groups[input.group], topic), topic)];
    }
    case "destination":
      return [...(await ofDestinations(name, found)), ...(await removed(name, found))];
    case "tier": {
      const waiting = sumOf(tiers.flatMap((tier) => tier.waiting ?? []));
      return [{ stage: name, destination: null, waiting, note: null }];
    }
  }
}

async function ofDestinations(
  name: StageName,
  { config, topics, groups, look }: Found,
): Promise<readonly StageStatus[]> {
  const rows: StageStatus[] = [];
  for (const destination of config.destinations) {
    const { id } = destination;
    const topic = topics.deliveries(id);
    if (destination.kind === "topic") {
      const note = "type topic: whoever reads it knows";
      rows.push({ stage: "-", destination: id, waiting: null, note });
      continue;
    }
    const line = await look(groups.deliver(id), topic);
    const returns = await look(groups.deliver(id), topics.returns(id));
    const due = returns?.records ?? 0;
    const row = stage(name, id, withDue(line, returns), topic);
    const again = due === 0 ? row.note : `${due} of them were attempted and are due again`;
    const still = stillness(destination);
    rows.push({ ...row, note: still === null ? again : `${still}: its line is held` });
  }
  return rows;
}

/** @param returns what waits on the topic of returns. */
function withDue(line: Waiting | null, returns: Waiting | null): Waiting | null {
  if (line === null || returns === null) return line;
  const damaged = [...line.damaged, ...returns.damaged];
  return { ...line, records: line.records + returns.records, damaged };
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
  name: StageName,
  { config, topics, groups, existing, look }: Found,
): Promise<readonly StageStatus[]> {
  const start = topics.deliveries("" as DestinationId);
  const found: StageStatus[] = [];
  for (const topic of [...existing].filter((name) => name.startsWith(start)).sort()) {
    const id = topic.slice(start.length) as DestinationId;
    if (config.destinations.some((destination) => destination.id === id)) continue;
    const line = await look(groups.deliver(id), topic);
    const due = await look(groups.deliver(id), topics.returns(id));
    const waiting = withDue(line, due);
    if (waiting === null || waiting.records === 0) continue;
    const note = "not configured: what is left stays until the id comes back";
    found.push({ stage: name, destination: id, waiting, note });
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
