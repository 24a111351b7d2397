// What an audit finds after crashes: deliveries were processed again, with other outcomes, and owners that crashed had
// written what is in no ledger record.

import fc from "fast-check";
import { expect, test } from "vitest";
import { DELIVERY_HEADER } from "../../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import type { OffsetRange } from "../../../../src/kafka/port.ts";
import { type AuditReport, audit } from "../../../../src/operator/audit/audit.ts";
import { ledgerRecord } from "../../../../src/router/ledger/ledger-record.ts";
import { identityOf, Tallies } from "../../../../src/router/ledger/tallies.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng, type Prng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const topics = topicNames("");
const groups = groupNames("");
const CRM = "crm" as DestinationId;
const QUEUE = topics.deliveries(CRM);
const DELAY = topics.delays(10_000);

/** What became of the deliveries at these offsets of the queue. The others of the ranges were delivered. */
interface Work {
  readonly ranges: readonly OffsetRange[];
  readonly retried: readonly number[];
  /** Those that were retried, but are not in the delay topic. */
  readonly lost?: readonly number[];
  /** Those that wait behind another one, if the order is strict. */
  readonly waiting?: readonly number[];
  /** Those of earlier ranges that waited, and were then retried. */
  readonly resumed?: readonly number[];
}

class World {
  readonly clock = new ManualClock();
  readonly #cluster = new MemoryCluster({ clock: this.clock, random: createPrng(1) });
  readonly #startedAtMs = this.clock.nowMs();
  #ids: ReadonlyMap<string, string> = new Map();
  readonly #queue: readonly string[];
  readonly #known = new Set<string>();
  #number = 0;

  /** @param queue the message IDs of the deliveries in the destination's queue. */
  static async create(queue: readonly string[]): Promise<World> {
    const world = new World(queue);
    const reading = world.#cluster.connect().admin.topicIds([topics.calls, QUEUE]);
    reading.then((ids) => world.#begin(ids)).catch(() => undefined);
    while (world.#ids.size === 0) await world.clock.advance(1_000);
    return world;
  }

  private constructor(queue: readonly string[]) {
    this.#queue = queue;
    for (const topic of [topics.calls, QUEUE, DELAY, topics.ledger]) {
      this.#cluster.createTopic(topic, 1);
    }
  }

  #begin(ids: ReadonlyMap<string, string>): void {
    this.#ids = ids;
    const queue = this.#queue;
    const tallies = new Tallies();
    for (const messageId of queue) {
      const call = { type: "track", messageId, userId: "u", event: "e" };
      const value = Buffer.from(JSON.stringify(call));
      this.#cluster.append({ topic: topics.calls, key: null, value, headers: [] });
      this.#append(QUEUE, messageId, 0);
      tallies.add("", "in", this.#identity(messageId, 0));
      tallies.add(CRM, "queued", this.#identity(messageId, 0));
    }
    this.#booked(groups.route, "p", topics.calls, [[0, queue.length]], tallies);
  }

  /** An owner processes deliveries, and writes its ledger record. */
  processed(process: string, work: Work): void {
    const { ranges, retried, lost = [], waiting = [], resumed = [] } = work;
    const tallies = new Tallies();
    for (const offset of resumed) {
      const messageId = this.#queue[offset] ?? "";
      tallies.add(CRM, "in:wait", this.#identity(messageId, 0));
      tallies.add(CRM, "retry", this.#identity(messageId, 1));
    }
    this.retried(resumed);
    for (const [from, to] of ranges) {
      for (let offset = from; offset < to; offset += 1) {
        const messageId = this.#queue[offset] ?? "";
        const isRetried = retried.includes(offset);
        tallies.add(CRM, "in", this.#identity(messageId, 0));
        const outcome = this.#identity(messageId, isRetried ? 1 : 0);
        const other = waiting.includes(offset) ? "wait" : "delivered";
        tallies.add(CRM, isRetried ? "retry" : other, outcome);
      }
    }
    this.retried(retried.filter((offset) => !lost.includes(offset)));
    this.#booked(groups.deliver(CRM), process, QUEUE, ranges, tallies);
  }

  /** Writes deliveries to the delay topic, but no ledger record, as an owner that crashes. */
  retried(offsets: readonly number[]): void {
    for (const offset of offsets) this.#append(DELAY, this.#queue[offset] ?? "", 1);
  }

  async audit(): Promise<AuditReport> {
    const kafka = this.#cluster.connect();
    const { signal } = new AbortController();
    const source = { kafka, topics, groups, destinations: [CRM], signal, onRead: () => undefined };
    const period = { fromMs: 0, toMs: this.#startedAtMs + 1_200_000 };
    let report: AuditReport | null = null;
    const auditing = audit(source, period).then((done) => {
      report = done;
    });
    while (report === null) await this.clock.advance(1_000);
    await auditing;
    return report;
  }

  #identity(messageId: string, retryCount: number) {
    return identityOf(messageId, this.#startedAtMs, retryCount);
  }

  #append(topic: string, id: string, retries: number): void {
    const { messageId, source, destination, timestamp, receivedAt, retryCount } = DELIVERY_HEADER;
    const fields = { [messageId]: id, [source]: "web", [destination]: CRM, [retryCount]: retries };
    const times = { [timestamp]: this.#startedAtMs, [receivedAt]: this.#startedAtMs };
    const headers = Object.entries({ ...fields, ...times }).map(
      ([name, value]) => [name, Buffer.from(`${value}`)] as const,
    );
    this.#cluster.append({ topic, key: null, value: Buffer.from("{}"), headers });
  }

  #booked(
    group: string,
    process: string,
    topic: string,
    ranges: readonly OffsetRange[],
    tallies: Tallies,
  ): void {
    this.#number += 1;
    const place = { topic, partition: 0, topicId: this.#ids.get(topic) ?? "", ranges };
    const start = { offset: ranges[0]?.[0] ?? 0, isOurs: true };
    const owner = `${group}/${process}`;
    const read = [this.#known.has(owner) ? place : { ...place, start }];
    this.#known.add(owner);
    const written = { group, process, number: this.#number, read, isLast: false, tallies };
    this.#cluster.append(ledgerRecord(topics.ledger, written));
  }
}

function isUnsure({ unknown }: AuditReport): boolean {
  return unknown.some((sentence) => sentence.endsWith("cannot be known"));
}

test("a delivery that is in the topic as often as it should be is not missing, whichever owner wrote it", async () => {
  const world = await World.create(["x", "w", "v", "e"]);
  const [x, w, v, e] = [0, 1, 2, 3];
  // Its owner crashed before it wrote the ledger.
  world.retried([e]);
  await world.clock.advance(10_000);
  world.processed("frozen", { ranges: [[w, v + 1]], retried: [v] });
  world.processed("next", {
    ranges: [
      [x, x + 1],
      [w, w + 1],
    ],
    retried: [w],
  });
  world.processed("last", { ranges: [[x, x + 1]], retried: [x] });
  world.processed("last", { ranges: [[e, e + 1]], retried: [e] });
  const report = await world.audit();
  expect([report.findings, report.unnamed, isUnsure(report)]).toEqual([[], [], false]);
  expect(report.destinations.get(CRM)).toMatchObject({
    awaitingRetry: 5,
    delivered: 2,
    missing: 0,
  });
});

test("if an owner that crashed has written many deliveries that the next one delivers, nothing is missing", async () => {
  const offsets = Array.from({ length: 50 }, (_, offset) => offset);
  const world = await World.create(offsets.map((offset) => `m${offset}`));
  world.retried(offsets.slice(0, 20));
  await world.clock.advance(10_000);
  world.processed("next", { ranges: [[0, 50]], retried: offsets.slice(10, 40) });
  const report = await world.audit();
  expect([report.findings, report.unnamed, isUnsure(report)]).toEqual([[], [], false]);
  expect(report.destinations.get(CRM)).toMatchObject({ awaitingRetry: 50, repeated: 20 });
});

test("a delivery that waited in the queue and was then retried is not taken for one that a crashed owner wrote", async () => {
  const world = await World.create(Array.from({ length: 10 }, (_, offset) => `m${offset}`));
  world.retried([0, 1, 2, 3]);
  await world.clock.advance(10_000);
  const waiting = [4, 5, 6, 7];
  world.processed("next", { ranges: [[0, 10]], retried: [0, 1, 2, 3], waiting });
  await world.clock.advance(10_000);
  world.processed("next", { ranges: [], retried: [], resumed: waiting });
  const report = await world.audit();
  expect([report.findings, report.unnamed, isUnsure(report)]).toEqual([[], [], false]);
  expect(report.destinations.get(CRM)).toMatchObject({ awaitingRetry: 12, repeated: 4 });
});

test("what is missing is named, also if what became of other deliveries after a crash is not clear", async () => {
  const offsets = Array.from({ length: 50 }, (_, offset) => offset);
  const world = await World.create(offsets.map((offset) => `m${offset}`));
  // Their owner crashed, and the next one delivers some of them in the same second.
  world.retried(offsets.slice(0, 20));
  await world.clock.advance(500);
  world.processed("next", { ranges: [[0, 40]], retried: offsets.slice(10, 40) });
  world.processed("next", { ranges: [[40, 50]], retried: [41, 42, 43, 44], lost: [43] });
  const report = await world.audit();
  expect(report.findings).toMatchObject([{ kind: "missing", messageId: "m43" }]);
  expect(isUnsure(report)).toBe(true);
});

test("if the first owner of all crashed before its first ledger record, its deliveries are not missing or too many", async () => {
  const all = Array.from({ length: 60 }, (_, offset) => offset);
  const world = await World.create(all.map((offset) => `m${offset}`));
  world.retried(all.slice(0, 50));
  await world.clock.advance(500);
  world.processed("next", { ranges: [[0, 60]], retried: all.slice(20), lost: all.slice(40, 50) });
  const report = await world.audit();
  expect([report.findings, report.unnamed, isUnsure(report)]).toEqual([[], [], true]);
});

test("if the topic has less than it should, something is missing, although copies are in it after a crash", async () => {
  const offsets = Array.from({ length: 100 }, (_, offset) => offset);
  const world = await World.create(offsets.map((offset) => `m${offset}`));
  world.processed("first", { ranges: [[0, 1]], retried: [] });
  world.retried(offsets.slice(2, 11));
  await world.clock.advance(500);
  world.processed("next", { ranges: [[1, 20]], retried: [12, 13] });
  const lost = offsets.slice(20, 50);
  world.processed("next", { ranges: [[20, 100]], retried: offsets.slice(20, 55), lost });
  const report = await world.audit();
  expect([report.crashes.length, report.unnamed.length]).toEqual([1, 1]);
});

test("what an owner wrote that crashed long ago, before its first ledger record, is repeated", async () => {
  const world = await World.create(["m0", "m1", "m2"]);
  world.retried([0, 1]);
  await world.clock.advance(900_000);
  world.processed("next", { ranges: [[0, 3]], retried: [0, 2] });
  const report = await world.audit();
  expect([report.findings, report.unnamed, isUnsure(report)]).toEqual([[], [], false]);
  expect(report.destinations.get(CRM)).toMatchObject({ repeated: 2, awaitingRetry: 4 });
});

/** Returns how often each message ID should be in the delay topic, and is not. */
async function live(world: World, queue: readonly string[], random: Prng, loss: number) {
  const absent = new Map<string, number>();
  const count = (offset: number, by: 1 | -1) => {
    const messageId = queue[offset] ?? "";
    absent.set(messageId, (absent.get(messageId) ?? 0) + by);
  };
  const chances = { crash: random.fraction() / 2, again: random.fraction() * 0.7 };
  const size = random.integer(3, 15);
  let owner = 0;
  for (let from = 0; from < queue.length; from += size) {
    const all = Array.from({ length: Math.min(size, queue.length - from) }, (_, at) => from + at);
    const chosen = (chance: number, some: readonly number[]) =>
      some.filter(() => random.chance(chance));
    if (random.chance(chances.crash)) {
      owner += 1;
      const written = chosen(random.fraction(), all);
      for (const offset of written) count(offset, -1);
      world.retried(written);
      await world.clock.advance(random.pick([500, 10_000]));
    }
    let part = all;
    do {
      const retried = chosen(random.fraction(), part);
      const lost = chosen(loss, retried);
      for (const offset of lost) count(offset, 1);
      const ranges = part.map((offset): OffsetRange => [offset, offset + 1]);
      world.processed(`p${owner}`, { ranges, retried, lost });
      owner += random.integer(0, 1);
      await world.clock.advance(random.pick([500, 10_000]));
      part = chosen(random.fraction(), all);
    } while (part.length > 0 && random.chance(chances.again));
  }
  return absent;
}

test("after any crashes, only what is missing is called missing, and the audit never passes over it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom(0, 0.02, 0.2), async (seed, loss) => {
      const random = createPrng(seed);
      const queue = Array.from(
        { length: random.integer(10, 60) },
        () => `m${random.integer(1, 60)}`,
      );
      const world = await World.create(queue);
      const absent = await live(world, queue, random, loss);
      const report = await world.audit();
      const missing = report.findings.filter(({ kind }) => kind === "missing");
      for (const { messageId } of missing) {
        expect(absent.get(messageId ?? "")).toBeGreaterThan(0);
      }
      const isAllThere = [...absent.values()].every((times) => times <= 0);
      const isReported = missing.length + report.unnamed.length > 0 || isUnsure(report);
      expect(isAllThere || isReported).toBe(true);
      if (isAllThere) expect(report.unnamed).toEqual([]);
    }),
    { numRuns: costlyInputs(5, 5_000) },
  );
});
