/**
 * Tampers with one record at each hop, so that `switchyard audit` has something to find.
 *
 *   fault      does, for one record of a queue, of a delay topic and of a retry topic            the audit finds
 *   double     another producer writes the record again                                          doubled
 *   drop       its reader stops, and the first unprocessed record is deleted                     missing
 *   replace    the same; later, another producer writes it with another message ID               missing and extra
 *
 * While partitions change their owners, and up to a minute after that, records that are doubled or extra look like those
 * that a crash repeats. So these are written when this time is over. Records of destinations with `deliver: every` are
 * left alone, because the parts for their endpoints cannot always be told from each other.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { DELIVERY_HEADER, readDelivery } from "../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import type { ClusterLook } from "../../tools/kafka/cluster-look.ts";
import type { AuditExpected } from "./audit.ts";
import { isCanary } from "./canaries.ts";
import type { FaultWorld } from "./faults.ts";
import { type ChaosDestination, consumedTopics, topics } from "./setup.ts";

/** See `src/operator/audit/books.ts`; and 5 s for ledger records. */
const OWNERS_CHANGED_MS = 65_000;
/** A record that was written this long before a change of the owner also counts as repeated. */
const BEFORE_CHANGE_MS = 8_000;
const FIND_LIMIT_MS = 60_000;
const FIND_STEP_MS = 500;
const READ_BYTES = 1_048_576;
const STRANGER = "stranger-";

type Injected = AuditExpected["injected"][number];

export interface TamperWorld extends FaultWorld {
  readonly kafka: Kafka;
  readonly look: ClusterLook;
  readonly all: readonly ChaosDestination[];
  readonly injected: Injected[];
  /** One tampers at a time. */
  tampering: Promise<void>;
}

const TAMPERINGS: Readonly<Record<string, (world: TamperWorld) => Promise<void>>> = {
  double: async (world) => {
    await sleep(OWNERS_CHANGED_MS);
    for (const hop of HOPS) {
      const record = await found(hop, () => lastRecord(world, hop));
      world.injected.push({ kind: "doubled", ...deliveryOf(record) });
      await write(world, record, record.headers);
    }
    await sleep(BEFORE_CHANGE_MS);
  },
  drop: async (world) => {
    await drop(world);
  },
  replace: async (world) => {
    const dropped = await drop(world);
    await sleep(OWNERS_CHANGED_MS);
    for (const record of dropped) {
      const { messageId, destination } = deliveryOf(record);
      const stranger = `${STRANGER}${messageId}`;
      world.injected.push({ kind: "extra", messageId: stranger, destination });
      const headers = record.headers.filter(([name]) => name !== DELIVERY_HEADER.messageId);
      await write(world, record, [...headers, [DELIVERY_HEADER.messageId, Buffer.from(stranger)]]);
    }
    await sleep(BEFORE_CHANGE_MS);
  },
};

export const TAMPERING_KINDS: readonly string[] = Object.keys(TAMPERINGS);
/** Each stage has a program of its own, so that it can be stopped while others write what it reads. */
export const TAMPERED_LAYOUT: readonly string[] = ["deliver", "delay", "route"];

/** True if the call was made up. */
export function isStranger(messageId: string | null | undefined): boolean {
  return messageId?.startsWith(STRANGER) === true;
}

/** Resolves when everything is as before, except for the records. */
export async function tamper(kind: string, world: TamperWorld): Promise<void> {
  const before = world.tampering;
  world.tampering = (async () => {
    await before;
    await TAMPERINGS[kind]?.(world);
  })();
  await world.tampering;
}

const HOPS = ["deliveries", "delays", "retries"] as const;
type Hop = (typeof HOPS)[number];
/** The stages that read the topics of the hops. */
const READERS: readonly (readonly [stage: string, hops: readonly Hop[]])[] = [
  ["delay", ["delays"]],
  ["deliver", ["deliveries", "retries"]],
];

/** The topics of a hop, with the groups that read them, in random order. */
function topicsOf({ all, random }: TamperWorld, hop: Hop): readonly (readonly [string, string])[] {
  const places = consumedTopics(all.filter(({ deliver }) => deliver === "any"));
  const some = places.filter(([topic]) => topic.startsWith(topics.calls.replace("calls", hop)));
  const first = random.integer(0, some.length - 1);
  return [...some.slice(first), ...some.slice(0, first)];
}

/** Deletes the first unprocessed record of a partition at each hop, while nobody reads it. */
async function drop(world: TamperWorld): Promise<readonly IncomingRecord[]> {
  const dropped: IncomingRecord[] = [];
  for (const [stage, hops] of READERS) {
    const reader = world.members.find(({ stages }) => stages === stage);
    await reader?.stop();
    for (const hop of hops) {
      const record = await found(hop, () => firstUnprocessed(world, hop));
      const { topic, partition, offset } = record;
      world.injected.push({ kind: "missing", ...deliveryOf(record) });
      await world.look.deleteRecordsBefore(topic, [{ partition, offset: offset + 1 }]);
      dropped.push(record);
    }
    await reader?.start();
    await reader?.ready();
  }
  return dropped;
}

async function firstUnprocessed(world: TamperWorld, hop: Hop): Promise<IncomingRecord | null> {
  const { admin } = world.kafka;
  for (const [topic, group] of topicsOf(world, hop)) {
    const committed = await admin.committed(group, topic);
    for (const { partition, end } of await admin.offsets(topic)) {
      const from = committed.find((each) => each.partition === partition)?.offset ?? 0;
      const record = from < end ? await read(world, topic, partition, from) : null;
      if (record !== null && mayTamper(world, record)) return record;
    }
  }
  return null;
}

async function lastRecord(world: TamperWorld, hop: Hop): Promise<IncomingRecord | null> {
  for (const [topic] of topicsOf(world, hop)) {
    for (const { partition, first, end } of await world.kafka.admin.offsets(topic)) {
      const record = first < end ? await read(world, topic, partition, end - 1) : null;
      if (record !== null && mayTamper(world, record)) return record;
    }
  }
  return null;
}

/** Waits until there is such a record. */
async function found(
  hop: Hop,
  find: () => Promise<IncomingRecord | null>,
): Promise<IncomingRecord> {
  for (
    const untilMs = Date.now() + FIND_LIMIT_MS;
    Date.now() < untilMs;
    await sleep(FIND_STEP_MS)
  ) {
    const record = await find();
    if (record !== null) return record;
  }
  throw new Error(`no topic ${hop} has such a record`);
}

/**
 * Each destination is tampered with once, because an audit names only a few where records were deleted. Users who may be
 * suppressed are left alone.
 */
function mayTamper({ injected, all }: TamperWorld, record: IncomingRecord): boolean {
  const { messageId, destination } = deliveryOf(record);
  if (isCanary(messageId) || isStranger(messageId)) return false;
  const isOfEvery = all.some(({ id, deliver }) => id === destination && deliver === "every");
  return !isOfEvery && !injected.some((each) => each.destination === destination);
}

async function read(
  { kafka }: TamperWorld,
  topic: string,
  partition: number,
  offset: number,
): Promise<IncomingRecord | null> {
  const signal = AbortSignal.timeout(FIND_LIMIT_MS);
  const range = { topic, partition, from: offset, to: offset + 1, maxBytes: READ_BYTES, signal };
  for await (const [record] of kafka.read(range)) if (record !== undefined) return record;
  return null;
}

async function write(
  { kafka }: TamperWorld,
  { topic, partition, key, value }: IncomingRecord,
  headers: IncomingRecord["headers"],
): Promise<void> {
  const [refused] = await kafka.producer().send([{ topic, partition, key, value, headers }]);
  if (refused !== undefined) throw new Error(`the broker refused a record: ${refused.error}`);
}

function deliveryOf(record: IncomingRecord): Omit<Injected, "kind"> {
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") throw new Error(`${record.topic}: ${parsed.error}`);
  const { messageId, destination } = parsed.delivery;
  return { messageId, destination };
}
