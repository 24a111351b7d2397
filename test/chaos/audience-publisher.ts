/**
 * Continuously publishes syncs of several audiences: in order for each audience, concurrently for different audiences,
 * with trait and `forget` records in between. Ends with a complete sync of each audience.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../../src/domain/record.ts";
import type { Producer } from "../../src/kafka/port.ts";
import type { Prng } from "../support/clock/prng.ts";
import { type AudiencePlan, type SentRecord, SyncAuthor } from "./audience-syncs.ts";

/** The large audiences have more changes than one step of the stage writes. */
export const AUDIENCES: readonly AudiencePlan[] = [
  { id: "a", pool: pool("u", 25), pieceMax: 6, pauseMaxMs: 400 },
  { id: "b", pool: pool("u", 25), pieceMax: 25, pauseMaxMs: 400 },
  { id: "c", pool: pool("u", 60), pieceMax: 10, pauseMaxMs: 400 },
  { id: "d", pool: pool("v", 6_000), pieceMax: 900, pauseMaxMs: 3_000 },
  { id: "e", pool: pool("v", 9_000), pieceMax: 3_000, pauseMaxMs: 5_000 },
];
export const PARTITIONS = 3;
const TRAITS = ["plan", "score"];
const VALUES = [null, 1, "x", { k: [1, 2] }];

export interface PublishOptions {
  readonly producer: Producer;
  readonly topic: string;
  readonly random: Prng;
  /** Ends publishing. The last syncs are written after that. */
  readonly stop: AbortSignal;
}

/** Resolves when the last record is acknowledged. */
export async function publishSyncs(options: PublishOptions): Promise<void> {
  const authors = AUDIENCES.map((plan) => publishAudience(options, plan));
  await Promise.all([...authors, publishUsers(options)]);
}

async function publishAudience(options: PublishOptions, plan: AudiencePlan): Promise<void> {
  const { stop } = options;
  const random = options.random.fork();
  const author = new SyncAuthor(plan, random.fork());
  while (!stop.aborted) {
    for (const record of author.next()) {
      await send(options, [outgoing(options.topic, plan.id, record)]);
      await sleep(random.chance(0.3) ? random.integer(0, 60) : 0);
    }
    await sleep(random.integer(0, plan.pauseMaxMs));
  }
  for (const record of author.last()) {
    await send(options, [outgoing(options.topic, plan.id, record)]);
  }
}

async function publishUsers(options: PublishOptions): Promise<void> {
  const { stop, topic } = options;
  const random = options.random.fork();
  while (!stop.aborted) {
    const userId = random.pick(["u", "v"]) + random.integer(0, 30);
    if (random.chance(0.1)) {
      const record = outgoing(topic, userId, { type: "forget", userId });
      const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
      await send(
        options,
        partitions.map((partition) => ({ ...record, partition })),
      );
    } else {
      const traitName = random.pick(TRAITS);
      const trait = { type: "trait", traitName, userId, value: random.pick(VALUES) };
      await send(options, [outgoing(topic, userId, trait)]);
    }
    await sleep(random.integer(0, 150));
  }
}

async function send({ producer }: PublishOptions, records: OutgoingRecord[]): Promise<void> {
  const [refused] = await producer.send(records);
  if (refused !== undefined) throw new Error(`the broker refused a sync: ${refused.error}`);
}

function outgoing(topic: string, key: string, record: SentRecord): OutgoingRecord {
  const text = typeof record === "string" ? record : JSON.stringify(record);
  return { topic, key: Buffer.from(key), value: Buffer.from(text), headers: [] };
}

function pool(prefix: string, size: number): readonly string[] {
  return Array.from({ length: size }, (_, index) => `${prefix}${index}`);
}
