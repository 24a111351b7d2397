// The ledger of replays: a row for each point at which a replay can crash, and what an audit then says.

import { describe, expect, test } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../src/domain/delivery.ts";
import { groupNames } from "../../../../src/domain/topics.ts";
import { type AuditReport, audit } from "../../../../src/operator/audit/audit.ts";
import { closes } from "../../../../src/operator/audit/audit-text.ts";
import {
  type LedgerRecord,
  ledgerRecord,
  parseLedgerRecord,
} from "../../../../src/router/ledger/ledger-record.ts";
import { Tallies } from "../../../../src/router/ledger/tallies.ts";
import { placeHeader } from "../../../../src/router/order/facts.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import type { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";
import { CallReplayWorld, topics } from "../../../support/worlds/call-replay-world.ts";
import { ReplayWorld } from "../../../support/worlds/replay-world.ts";

const HOUR_MS = 3_600_000;

function ledgerIn(cluster: MemoryCluster): readonly LedgerRecord[] {
  return cluster.records(topics.ledger).map(({ value }) => {
    const record = parseLedgerRecord(value);
    if (record === null) throw new Error("not a ledger record");
    return record;
  });
}

/** The deliveries of each ledger record, by destination and outcome. */
function countsOf(records: readonly LedgerRecord[]): readonly Record<string, number>[] {
  return records.map(({ tallies }) => {
    const counts: Record<string, number> = {};
    tallies.each((_bin, destination, outcome, { count }) => {
      const key = `${destination}: ${outcome}`;
      counts[key] = (counts[key] ?? 0) + count;
    });
    return counts;
  });
}

/** The route stage has processed all calls, without writing a delivery: only replays have written some. */
async function audited(world: CallReplayWorld | ReplayWorld): Promise<AuditReport> {
  const kafka = world.cluster.connect();
  const calls = await world.finish(kafka.admin.offsets(topics.calls));
  const ids = await world.finish(kafka.admin.topicIds([topics.calls]));
  const topicId = ids.get(topics.calls) ?? "";
  const read = calls.map(({ partition, end }) => {
    return { topic: topics.calls, partition, topicId, ranges: [[0, end]] as const };
  });
  const routed = { group: "sw.route", process: "p", number: world.clock.nowMs(), isLast: false };
  const record = ledgerRecord(topics.ledger, { ...routed, read, tallies: new Tallies() });
  world.cluster.append({ ...record, partition: 0 });
  const destinations = "crm" in world ? [world.crm.id] : world.destinations.map(({ id }) => id);
  const { signal } = new AbortController();
  const source = { kafka, topics, groups: groupNames("sw."), destinations, signal };
  const nowMs = world.clock.nowMs();
  const asked = { fromMs: 0, toMs: nowMs + 24 * HOUR_MS };
  return await world.finish(audit({ ...source, onRead: () => undefined }, asked));
}

test("a replay writes that it begins, each batch after its acknowledgment, and that it ends", async () => {
  const world = new CallReplayWorld();
  await world.fill(700);
  expect(await world.finish(world.process("one").begin())).toBe("done");
  const ledger = ledgerIn(world.cluster);
  expect(countsOf(ledger)).toEqual([{}, { "crm: queued": 500 }, { "crm: queued": 200 }, {}]);
  expect(ledger.map(({ isLast }) => isLast)).toEqual([false, false, false, true]);
  expect(new Set(ledger.map(({ group, process }) => `${group} ${process}`)).size).toBe(1);
  expect(ledger[0]).toMatchObject({ group: "sw.replay.replay-1", read: [] });
  const report = await audited(world);
  expect(closes(report)).toBe(true);
  expect(report.destinations.get("crm")).toMatchObject({ replayed: 700, queued: 700, repeated: 0 });
});

test("dead letters: what is written for a destination is in the ledger, and calls are not", async () => {
  const world = new ReplayWorld();
  await world.fill(10);
  await world.fill(5, () => ({ stage: "route", reason: "unknown-source", topic: topics.calls }));
  expect(await world.finish(world.process("one").begin("replay-1"))).toBe("done");
  expect(countsOf(ledgerIn(world.cluster))).toEqual([{}, { "crm: queued": 10 }, {}]);
  const report = await audited(world);
  expect(closes(report)).toBe(true);
  expect(report.destinations.get("crm")).toMatchObject({ replayed: 10, queued: 10 });
});

test("a dead letter for which its user waits is replayed to the retry topic, and is in the ledger as that", async () => {
  const crm = webhookDestination({ order: "strict", onDeadLetter: "hold" });
  const world = new ReplayWorld({ destinations: [crm] });
  world.cluster.createTopic(topics.retries(crm.id), 1);
  const place = placeHeader({ line: "id:0", offset: 7 });
  await world.fill(3, (number) => {
    const delivery = deliveryOf({ messageId: `m-${number}` as Delivery["messageId"] });
    return { headers: [...deliveryHeaders(delivery), place] };
  });
  expect(await world.finish(world.process("one").begin("replay-1"))).toBe("done");
  expect(countsOf(ledgerIn(world.cluster))).toEqual([{}, { "crm: returned": 3 }, {}]);
  const report = await audited(world);
  expect([closes(report), report.findings]).toEqual([true, []]);
  expect(report.destinations.get("crm")).toMatchObject({ replayed: 3, awaitingRetry: 3 });
});

describe("a replay of calls is killed", () => {
  /** @param isNow if true, the process is killed. */
  async function killed(isNow: (world: CallReplayWorld) => boolean) {
    const world = new CallReplayWorld();
    await world.fill(1_200);
    const first = world.process("one");
    void first.begin().catch(() => undefined);
    await world.clock.advanceUntil(() => isNow(world), 60_000);
    first.kafka.kill();
    await world.clock.advance(1_000);
    return world;
  }

  test.each<[string, number]>([
    ["first", 1],
    ["second", 501],
  ])(
    "after it wrote its %s batch, before the ledger: the batch counts as repeated",
    async (_which, from) => {
      const world = await killed((each) => each.written().length >= from);
      expect(ledgerIn(world.cluster)).toHaveLength(from === 1 ? 1 : 2);
      const before = await audited(world);
      expect([before.findings, before.unnamed]).toEqual([[], []]);
      expect(before.unknown.join()).toMatch(
        /sw\.replay\.replay-1 has not ended: what it wrote after/,
      );
      await world.finish(world.process("two").resume());
      const repeated = world.written().length - 1_200;
      expect(repeated).toBeGreaterThan(3);
      const report = await audited(world);
      expect([report.findings, report.unnamed]).toEqual([[], []]);
      expect(report.unknown.join()).not.toContain("has not ended");
      expect(report.crashes).toMatchObject([{ group: "sw.replay.replay-1" }]);
      expect(report.destinations.get("crm")).toMatchObject({ replayed: 1_200, repeated });
    },
  );

  test("after the ledger record of its first batch: the ledger has the batch twice", async () => {
    const world = await killed(({ cluster }) => cluster.records(topics.ledger).length >= 2);
    await world.finish(world.process("two").resume());
    const replayed = world.written().length;
    const report = await audited(world);
    expect(closes(report)).toBe(true);
    expect(report.destinations.get("crm")).toMatchObject({ replayed });
  });
});

test("a delivery that nobody wrote is named although a replay wrote the same message", async () => {
  const world = new CallReplayWorld();
  await world.fill(700);
  expect(await world.finish(world.process("one").begin())).toBe("done");
  const [record] = world.cluster.records(world.topic);
  if (record === undefined) throw new Error("nothing was written");
  await world.clock.advance(HOUR_MS);
  world.cluster.append(record);
  const { findings, unnamed } = await audited(world);
  expect(unnamed).toEqual([]);
  const messageId = headerTexts(record)["switchyard-message-id"];
  expect(findings).toMatchObject([{ kind: "extra", messageId, destination: "crm" }]);
});
