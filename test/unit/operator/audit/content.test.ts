// What a topic contains when it is audited: records that were deleted after they had been processed are not missing,
// unlike those that were deleted unread; and those whose call is on its way are not extra.

import { expect, test } from "vitest";
import { DELIVERY_HEADER } from "../../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import type { Kafka } from "../../../../src/kafka/port.ts";
import { type AuditReport, audit } from "../../../../src/operator/audit/audit.ts";
import { ledgerRecord } from "../../../../src/router/ledger/ledger-record.ts";
import { identityOf, type Outcome, Tallies } from "../../../../src/router/ledger/tallies.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const topics = topicNames("");
const groups = groupNames("");
const CRM = "crm" as DestinationId;
const QUEUE = topics.deliveries(CRM);

class World {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster({ clock: this.clock, random: createPrng(1) });
  readonly kafka = this.cluster.connect();
  readonly startedAtMs = this.clock.nowMs();
  #number = 0;

  constructor(calls: number) {
    for (const topic of [topics.calls, QUEUE, topics.ledger]) this.cluster.createTopic(topic, 1);
    for (let number = 1; number <= calls; number += 1) {
      const call = { type: "track", messageId: `m${number}`, userId: "u", event: "e" };
      const value = Buffer.from(JSON.stringify(call));
      this.cluster.append({ topic: topics.calls, key: null, value, headers: [] });
    }
  }

  /** The ledger record of a stage that has processed everything up to an offset. */
  processed(group: string, topic: string, end: number, outcomes: Readonly<Record<string, number>>) {
    const tallies = new Tallies();
    for (const [outcome, count] of Object.entries(outcomes)) {
      for (let number = 1; number <= count; number += 1) {
        const destination = outcome === "in" && group === groups.route ? "" : CRM;
        tallies.add(destination, outcome as Outcome, identityOf(`m${number}`, this.startedAtMs));
      }
    }
    this.#number += 1;
    const start = { offset: 0, isOurs: true };
    const read = [{ topic, partition: 0, topicId: "", ranges: [[0, end] as const], start }];
    const written = { group, process: "p", number: this.#number, read, isLast: false, tallies };
    this.cluster.append(ledgerRecord(topics.ledger, written));
  }

  /** A ledger record with one more delivery, of whose offset the ledger has nothing. */
  processedAgain(group: string, number: number): void {
    const tallies = new Tallies();
    tallies.add(CRM, "in", identityOf(`m${number}`, this.startedAtMs));
    this.#number += 1;
    const written = { group, process: "p", number: this.#number, read: [], isLast: false, tallies };
    this.cluster.append(ledgerRecord(topics.ledger, written));
  }

  queued(number: number): void {
    const { messageId, source, destination, timestamp, receivedAt } = DELIVERY_HEADER;
    const fields = { [messageId]: `m${number}`, [source]: "web", [destination]: CRM };
    const times = { [timestamp]: this.startedAtMs, [receivedAt]: this.startedAtMs };
    const headers = Object.entries({ ...fields, ...times }).map(
      ([name, value]) => [name, Buffer.from(`${value}`)] as const,
    );
    this.cluster.append({ topic: QUEUE, key: null, value: Buffer.from("{}"), headers });
  }

  /** @param kafka what the audit reads, by default the cluster. */
  async audit(kafka: Pick<Kafka, "admin" | "read"> = this.kafka): Promise<AuditReport> {
    const { signal } = new AbortController();
    const source = { kafka, topics, groups, destinations: [CRM], signal };
    const period = { fromMs: 0, toMs: this.startedAtMs + 1_200_000 };
    let report: AuditReport | null = null;
    const auditing = audit({ ...source, onRead: () => undefined }, period).then((done) => {
      report = done;
    });
    while (report === null) await this.clock.advance(1_000);
    await auditing;
    return report;
  }
}

function missing({ findings }: AuditReport): readonly string[] {
  return findings.map(({ kind, messageId }) => `${kind} ${messageId}`);
}

test("of three records that were deleted, the one that nobody had processed is missing", async () => {
  const world = new World(4);
  world.processed(groups.route, topics.calls, 4, { in: 4, queued: 4 });
  world.cluster.skipOffsets(QUEUE, 0, 3);
  world.queued(4);
  world.processed(groups.deliver(CRM), QUEUE, 2, { in: 2, delivered: 2 });
  const report = await world.audit();
  expect(missing(report)).toEqual(["missing m3"]);
  expect(report.unnamed).toEqual([]);
});

test("if more are missing than can be told from those that were processed, they are counted", async () => {
  const world = new World(20);
  world.processed(groups.route, topics.calls, 20, { in: 20, queued: 20 });
  world.cluster.skipOffsets(QUEUE, 0, 20);
  world.processed(groups.deliver(CRM), QUEUE, 10, { in: 10, delivered: 10 });
  const report = await world.audit();
  expect(missing(report)).toEqual([]);
  expect(report.unnamed).toEqual([expect.stringMatching(/^crm: 10 deliveries /)]);
});

test("if the records from which deliveries were made are deleted, one that is extra is still named", async () => {
  const world = new World(0);
  world.cluster.skipOffsets(topics.calls, 0, 5);
  world.processed(groups.route, topics.calls, 5, { in: 5, queued: 5 });
  for (const number of [1, 2, 3, 4, 5, 9]) world.queued(number);
  const report = await world.audit();
  expect(missing(report)).toEqual(["extra m9"]);
  expect(report.unnamed).toEqual([]);
});

test("if the topic does not have what others wrote any more, one that is missing is still named", async () => {
  const world = new World(4);
  world.processed(groups.route, topics.calls, 4, { in: 4, queued: 4 });
  world.processed(groups.delay("10s"), topics.delays(10_000), 3, { queued: 3 });
  world.cluster.skipOffsets(QUEUE, 0, 7);
  world.processed(groups.deliver(CRM), QUEUE, 6, { in: 3, delivered: 3 });
  world.processed(groups.deliver(CRM), QUEUE, 6, { in: 3, delivered: 3 });
  const report = await world.audit();
  expect(missing(report)).toEqual(["missing m4"]);
  expect(report.unnamed).toEqual([]);
});

test("if as many are missing as were too many, and both were deleted, there are at least two", async () => {
  const world = new World(4);
  world.processed(groups.route, topics.calls, 4, { in: 4, queued: 4 });
  world.cluster.skipOffsets(QUEUE, 0, 4);
  // The second one was read twice, and the fourth one never.
  world.processed(groups.deliver(CRM), QUEUE, 4, { in: 3, delivered: 3 });
  world.processedAgain(groups.deliver(CRM), 2);
  const report = await world.audit();
  expect(missing(report)).toEqual([]);
  expect(report.unnamed).toEqual([expect.stringMatching(/^crm: 2 deliveries /)]);
});

test("a delivery is named although nothing about its ten minutes is in the ledger", async () => {
  const world = new World(0);
  world.queued(1);
  const report = await world.audit();
  expect(missing(report)).toEqual(["extra m1"]);
});

test("if all of them had been processed, nothing is missing", async () => {
  const world = new World(3);
  world.processed(groups.route, topics.calls, 3, { in: 3, queued: 3 });
  world.cluster.skipOffsets(QUEUE, 0, 3);
  world.processed(groups.deliver(CRM), QUEUE, 3, { in: 3, delivered: 3 });
  const report = await world.audit();
  expect([missing(report), report.unnamed]).toEqual([[], []]);
});

test("a delivery whose call was written after the end of calls had been read is not extra", async () => {
  const world = new World(2);
  world.processed(groups.route, topics.calls, 1, { in: 1, queued: 1 });
  world.queued(1);
  world.queued(2);
  const { admin } = world.kafka;
  let reads = 0;
  const ends = async (names: readonly string[]) => {
    const found = new Map(await admin.offsetsOf(names));
    reads += 1;
    if (reads === 1) found.set(topics.calls, [{ partition: 0, first: 0, end: 1 }]);
    return found;
  };
  const hastyAdmin = new Proxy(admin, {
    get: (_, name) => {
      const value: unknown = Reflect.get(admin, name, admin);
      if (name === "offsetsOf") return ends;
      return typeof value === "function" ? value.bind(admin) : value;
    },
  });
  const report = await world.audit({ admin: hastyAdmin, read: (range) => world.kafka.read(range) });
  expect([missing(report), report.unnamed]).toEqual([[], []]);
});
