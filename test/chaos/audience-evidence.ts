/** Reads from the topics of a run which changes were requested and which calls were written, for `audience-laws.ts`. */

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { TopicNames } from "../../src/domain/topics.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import type { Audience } from "../../src/router/audience/audience.ts";
import { audienceKey, firstOf, userOf } from "../../src/router/audience/keys.ts";
import { headerTexts } from "../support/build/calls.ts";
import {
  AudienceModel,
  type ModelOptions,
  type ModelRecord,
} from "../support/worlds/audience-model.ts";
import type { Evidence, Expected, ReportedCall } from "./audience-laws.ts";
import { AUDIENCES } from "./audience-publisher.ts";

const STEP_MAX_BYTES = 1_024 * 1_024;

/** The expected results of the records on `audience-syncs`. */
export async function readExpected(
  kafka: Kafka,
  topics: TopicNames,
  approval: ModelOptions,
): Promise<Expected> {
  const reported = new Map<string, string[]>();
  const members = new Map<string, ReadonlySet<string>>();
  const deadLetters = new Set<string>();
  for (const records of await readTopic(kafka, topics.audienceSyncs)) {
    const model = new AudienceModel(approval);
    for (const { partition, offset, value } of records) {
      const record = readRecord(`${value}`);
      if (record === null) deadLetters.add(`${partition}/${offset}`);
      else model.apply(record, offset);
    }
    for (const offset of model.refused) deadLetters.add(`${records[0]?.partition}/${offset}`);
    const seen = new Set<string>();
    for (const { audienceId, userId, value, by } of model.calls) {
      // A user who was forgotten during a sync, and was then listed again by the same sync, has the same message ID
      // twice.
      const id = JSON.stringify([audienceId, userId, value, by]);
      if (seen.has(id)) continue;
      seen.add(id);
      append(reported, `${userId} ${audienceId}`, JSON.stringify(value));
    }
    for (const { id } of AUDIENCES) {
      if (model.members(id).size > 0) members.set(id, model.members(id));
    }
  }
  return { reported, members, deadLetters };
}

/** The records that the programs have written. */
export async function readEvidence(kafka: Kafka, topics: TopicNames): Promise<Evidence> {
  const calls = (await readTopic(kafka, topics.calls)).flat().flatMap(reportedCalls);
  const deadLetters = (await readTopic(kafka, topics.deadLetters)).flat().map((record) => {
    const texts = headerTexts(record);
    return `${texts[DEAD_LETTER_HEADER.partition]}/${texts[DEAD_LETTER_HEADER.offset]}`;
  });
  const members = new Map<string, ReadonlySet<string>>();
  for (const records of await readTopic(kafka, topics.audienceMembers)) {
    for (const [id, users] of membersOf(records)) members.set(id, users);
  }
  return { calls, members, deadLetters: new Set(deadLetters) };
}

function reportedCalls({ value, timestampMs }: IncomingRecord): ReportedCall[] {
  const { userId, traits, messageId } = JSON.parse(`${value}`) as {
    readonly userId: string;
    readonly traits: Readonly<Record<string, unknown>>;
    readonly messageId: string;
  };
  return Object.entries(traits).map(([trait, said]) => {
    const about = `${userId} ${trait}`;
    return { about, value: JSON.stringify(said), messageId, atMs: timestampMs };
  });
}

/** By audience, the members according to the records that compaction would keep of a partition of the changelog. */
function membersOf(records: readonly IncomingRecord[]): ReadonlyMap<string, ReadonlySet<string>> {
  const left = new Map(records.map(({ key, value }) => [`${key}`, value]));
  const audiences = AUDIENCES.flatMap(({ id }) => {
    const entry = left.get(audienceKey(id));
    return entry === undefined || entry === null ? [] : [JSON.parse(`${entry}`) as Audience];
  });
  const members = new Map(audiences.map(({ first }) => [first, new Set<string>()]));
  for (const [key, value] of left) {
    if (key.startsWith("m") && value !== null) members.get(firstOf(key))?.add(userOf(key));
  }
  return new Map(audiences.map(({ id, first }) => [id, members.get(first) ?? new Set()]));
}

/** All records of each partition. */
async function readTopic(kafka: Kafka, topic: string): Promise<readonly IncomingRecord[][]> {
  const partitions = await kafka.admin.offsets(topic);
  return Promise.all(
    partitions.map(async ({ partition, end }) => {
      const all: IncomingRecord[] = [];
      const signal = AbortSignal.timeout(120_000);
      const range = { topic, partition, from: 0, to: end, maxBytes: STEP_MAX_BYTES, signal };
      for await (const records of kafka.read(range)) for (const each of records) all.push(each);
      return all;
    }),
  );
}

/** Null if the value is not JSON. */
function readRecord(text: string): ModelRecord | null {
  try {
    return JSON.parse(text) as ModelRecord;
  } catch {
    return null;
  }
}

function append(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
