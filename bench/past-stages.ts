/**
 * Writes what stages write, with times that have passed: an audit of a day would otherwise need a day. Each second, each
 * consumer writes one ledger record for all its partitions, as a consumer does that commits every second.
 */

import { randomInt, randomUUID } from "node:crypto";

import { systemClock } from "../src/base/runtime/clock.ts";
import type { DestinationId } from "../src/domain/ids.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import { ledgerRecord } from "../src/router/ledger/ledger-record.ts";
import { BIN_MS, identityOf, Tallies } from "../src/router/ledger/tallies.ts";
import { benchDelivery, callRecord, idOf } from "./work.ts";
import { benchKafka, report, type Workbench } from "./workbench.ts";

export const PARTITIONS = 6;
const PER_PARTITION = 167;
export const CALLS_PER_SECOND = PARTITIONS * PER_PARTITION;
const SECOND_MS = 1_000;
/** A day, and the 20 minutes before it. */
const DAY_SECONDS = 87_600;
/** The seconds of a day that are written together, with the same time. */
const STEP_SECONDS = 60;

/** The consumer of a stage. */
class PastConsumer {
  readonly #ledger: string;
  readonly #group: string;
  readonly #place: { readonly topic: string; readonly topicId: string };
  readonly #process = randomUUID();
  readonly #took = new Array<number>(PARTITIONS).fill(0);
  #reported: readonly number[] = [...this.#took];
  #number = 0;

  constructor(ledger: string, group: string, topic: string, topicId: string) {
    this.#ledger = ledger;
    this.#group = group;
    this.#place = { topic, topicId };
  }

  take(partition: number, count: number): void {
    this.#took[partition] = (this.#took[partition] ?? 0) + count;
  }

  /** The ledger record about what was taken since the last one. */
  record(tallies: Tallies): OutgoingRecord {
    const start = this.#number === 0 ? { start: { offset: 0, isOurs: true } } : {};
    this.#number += 1;
    const read = this.#took.map((to, partition) => {
      const range = [this.#reported[partition] ?? 0, to] as const;
      return { ...this.#place, partition, ranges: [range], ...start };
    });
    this.#reported = [...this.#took];
    const own = { group: this.#group, process: this.#process, number: this.#number };
    return ledgerRecord(this.#ledger, { ...own, read, isLast: false, tallies });
  }
}

/** The consumer of the route stage, and those of the deliver stage. */
async function consumersOf({ kafka, topics, groups }: Workbench, destinations: number) {
  const deliveries = Array.from({ length: destinations }, (_, at) => idOf(at) as DestinationId);
  const read = [topics.calls, ...deliveries.map((id) => topics.deliveries(id))];
  const ids = await kafka.admin.topicIds(read);
  const create = (group: string, topic: string) =>
    new PastConsumer(topics.ledger, group, topic, ids.get(topic) ?? "");
  return {
    route: create(groups.route, topics.calls),
    deliver: deliveries.map((id) => create(groups.deliver(id), topics.deliveries(id))),
  };
}

/** Sends the records of each step as if it were then. */
async function sendAt(
  { brokers }: Workbench,
  steps: Iterable<{ readonly atMs: number; readonly records: readonly OutgoingRecord[] }>,
): Promise<void> {
  let [nowMs, done] = [0, 0];
  const kafka = benchKafka(brokers, { ...systemClock, nowMs: () => nowMs });
  const producer = kafka.producer();
  for (const { atMs, records } of steps) {
    nowMs = atMs;
    const [rejected] = await producer.send(records);
    if (rejected !== undefined) throw new Error(`a record was rejected: ${rejected.error}`);
    done += 1;
    if (done % 500 === 0) report(`  written until ${new Date(atMs).toISOString()}`);
  }
  await kafka.close();
}

/**
 * Writes the ledger of a day, in which everything was delivered. The topics stay empty: if all sums close, an audit reads
 * no records whose offsets are in the ledger.
 */
export async function writeDay(bench: Workbench, destinations: number): Promise<void> {
  const { route, deliver } = await consumersOf(bench, destinations);
  const fromMs = Date.now() - DAY_SECONDS * SECOND_MS;
  const recordsAt = (atMs: number) => {
    // The hashes are random, but the same at each stage.
    const sum = {
      count: CALLS_PER_SECOND,
      high: randomInt(2 ** 32) | 0,
      low: randomInt(2 ** 32) | 0,
    };
    const bin = Math.floor(atMs / BIN_MS);
    const [routed, ...delivered] = [route, ...deliver].map(() => new Tallies());
    if (routed === undefined) return [];
    Object.assign(routed.of(bin, "", "in"), sum);
    for (const [at, tallies] of delivered.entries()) {
      Object.assign(routed.of(bin, idOf(at), "queued"), sum);
      Object.assign(tallies.of(bin, idOf(at), "in"), sum);
      Object.assign(tallies.of(bin, idOf(at), "delivered"), sum);
    }
    return [route, ...deliver].map((consumer, at) => {
      for (let place = 0; place < PARTITIONS; place += 1) consumer.take(place, PER_PARTITION);
      return consumer.record([routed, ...delivered][at] ?? routed);
    });
  };
  function* steps() {
    for (let second = 0; second < DAY_SECONDS; second += STEP_SECONDS) {
      const atMs = fromMs + second * SECOND_MS;
      const each = Array.from({ length: STEP_SECONDS }, () => recordsAt(atMs));
      yield { atMs, records: each.flat() };
    }
  }
  await sendAt(bench, steps());
}

/**
 * Writes calls, their deliveries to one destination except for one in `every`, and a ledger according to which all of
 * them were written. Returns the message IDs of those that are missing.
 */
export async function writeWithGaps(
  bench: Workbench,
  seconds: number,
  every: number,
): Promise<readonly string[]> {
  const { route, deliver } = await consumersOf(bench, 1);
  const missing: string[] = [];
  const id = idOf(0);
  const topic = bench.deliveries(id);
  const recordsAt = (atMs: number, second: number) => {
    const [routed, delivered] = [new Tallies(), new Tallies()];
    const records: OutgoingRecord[] = [];
    for (let at = 0; at < CALLS_PER_SECOND; at += 1) {
      const number = second * CALLS_PER_SECOND + at;
      const partition = at % PARTITIONS;
      records.push({ ...callRecord(bench.topics.calls, number), partition });
      route.take(partition, 1);
      const messageId = `bench-${number}`;
      const identity = identityOf(messageId, atMs);
      routed.add("", "in", identity);
      routed.add(id, "queued", identity);
      if (number % every === every / 2) missing.push(messageId);
      else {
        const times = { timestampMs: atMs, receivedAtMs: atMs };
        records.push({ ...benchDelivery(topic, 0, number, times), partition });
        deliver[0]?.take(partition, 1);
        delivered.add(id, "in", identity);
        delivered.add(id, "delivered", identity);
      }
    }
    const ledgers = deliver.map((consumer) => consumer.record(delivered));
    return [...records, route.record(routed), ...ledgers];
  };
  // The calls are in four bins.
  const fromMs = Math.floor(Date.now() / BIN_MS) * BIN_MS - 6 * BIN_MS;
  function* steps() {
    for (let second = 0; second < seconds; second += 1) {
      const atMs = fromMs + second * SECOND_MS;
      yield { atMs, records: recordsAt(atMs, second) };
    }
  }
  await sendAt(bench, steps());
  return missing;
}
