// Audits of real processes on a real Kafka, in which everything happens that may happen: an audit closes at any time.

import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as timer } from "node:timers/promises";
import { expect, test } from "vitest";
import type { DestinationId } from "../../src/domain/ids.ts";
import { ClusterLook } from "../../tools/kafka/cluster-look.ts";

import {
  type Audited,
  expectClosed,
  expectSum,
  ids,
  isSettled,
  rowOf,
  useAudited,
} from "../support/kit/audited.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import type { TakenRequest } from "../support/kit/receiver.ts";

/** The first attempts for these message IDs fail, and all attempts for those are rejected. */
function usual({ id, earlier }: TakenRequest): number {
  if (id.startsWith("rejected")) return 400;
  return id.startsWith("retried") && earlier === 0 ? 503 : 200;
}

const hook = (url: string, path: string) => ({
  messageIdHeader: true,
  endpoints: [{ url: `${url}/${path}` }],
});

test("retries, dead letters, replays, several endpoints, batches, filters, suppressions and deletions", async () => {
  const state = { isHealed: false };
  const world = await useAudited("audit", {
    manner: (request) => {
      if (state.isHealed) return 200;
      const isFirst = request.path === "/second" && request.earlier === 0;
      return isFirst ? 503 : usual(request);
    },
    destinations: (url) => ({
      crm: hook(url, "crm"),
      ordered: { ...hook(url, "ordered"), order: "strict" },
      both: {
        ...{ messageIdHeader: true, deliver: "every" },
        endpoints: [{ url: `${url}/first` }, { url: `${url}/second` }],
      },
      batched: { endpoints: [{ url: `${url}/batched` }], batch: { calls: 7, wait: "1s" } },
      filtered: {
        ...hook(url, "filtered"),
        filters: [{ name: "some", if: 'event = "Unwanted"', drop: true }],
      },
    }),
    partitions: 2,
  });
  const { publish, command, closesUntil, program } = world;
  await program.ready();
  await command("suppressions", "add", "nobody");
  await timer(1_000);
  await publish(ids("retried", 20));
  // With a strict order, these wait behind a retry.
  await publish(ids("plain", 20), { userId: "u-retried-0" });
  await publish(ids("rejected", 5));
  await publish(ids("unwanted", 4), { event: "Unwanted" });
  await publish(ids("suppressed", 3), { userId: "nobody" });
  await publish(ids("bad", 2), { type: "no such type" });
  await command("delete", "somebody");
  const failed = await closesUntil(isSettled(54));
  expect(failed.calls).toMatchObject({ deadLettered: { "invalid-call": 2 } });
  for (const row of failed.destinations) expectSum(row);
  expect(rowOf(failed, "crm")).toMatchObject({
    ...{ routed: 49, notified: 1, delivered: 45, repeated: 0 },
    ...{ deadLettered: { rejected: 5 }, skipped: { suppressed: 3 } },
  });
  expect(rowOf(failed, "filtered")).toMatchObject({ skipped: { filtered: 4, suppressed: 3 } });
  expect(rowOf(failed, "ordered")).toMatchObject({
    ...{ routed: 49, notified: 1, parts: 0, delivered: 45, repeated: 0, waiting: 0, dropped: 0 },
    ...{ deadLettered: { rejected: 5 }, skipped: { suppressed: 3 } },
  });
  expect(rowOf(failed, "both").parts).toBeGreaterThan(0);

  state.isHealed = true;
  await command("dead-letters", "replay", "--destination", "both", "--yes");
  await command("dead-letters", "replay", "--destination", "crm", "--yes");
  await command("replay", "filtered", "--since", "1h");
  const replayed = await closesUntil(isSettled(54));
  for (const row of replayed.destinations) expectSum(row);
  expect(rowOf(replayed, "crm")).toMatchObject({ replayed: 5, delivered: 50 });
  expect(rowOf(replayed, "filtered")).toMatchObject({ replayed: 45, delivered: 86 });
}, 120_000);

test("processes are killed under load: every audit closes, and repeated deliveries are counted", async () => {
  const world = await useAudited("audit-kill", {
    manner: usual,
    destinations: (url) => ({ crm: hook(url, "crm"), other: hook(url, "other") }),
    partitions: 3,
  });
  const { publish, closesUntil, audit, program, receiver } = world;
  const reports: Audited[] = [];
  let published = 0;
  const load = async (round: string, batches: number) => {
    for (let number = 0; number < batches; number += 1) {
      await publish(ids(`${number % 4 === 0 ? "retried" : "plain"}-${round}-${number}`, 20));
      published += 20;
    }
  };
  for (const round of ["one", "two"]) {
    const process = await program.ready();
    await load(`${round}-start`, 1);
    const isProcessed = () => receiver.ids("/crm").some((id) => id.includes(round));
    await expect.poll(isProcessed, { timeout: 60_000 }).toBe(true);
    for (let part = 0; part < 4; part += 1) {
      await load(`${round}-${part}`, 20);
      reports.push(await audit());
    }
    await load(`${round}-end`, 20);
    await process.kill();
    reports.push(await audit());
  }
  await program.ready();
  const last = await closesUntil(isSettled(published));
  for (const report of reports) expectClosed(report);
  expect(last.crashes.length).toBeGreaterThan(0);
  for (const row of last.destinations) {
    const accepted = receiver.accepted(`/${row.destination}`);
    const distinct = new Set(accepted.map(({ id }) => id)).size;
    expect(distinct).toBe(published);
    // What was in flight at a crash is sent again too, and nobody knows.
    expect(row.repeated).toBeGreaterThan(0);
    expect(row.repeated).toBeLessThanOrEqual(accepted.length - distinct);
  }
}, 120_000);

test("no ledger is written for a while, and partitions are added: what cannot be known is no finding", async () => {
  const world = await useAudited("audit-off", {
    manner: usual,
    destinations: (url) => ({ crm: hook(url, "crm") }),
  });
  const { publish, closesUntil, program, own } = world;
  const first = await program.ready();
  await publish([...ids("plain", 10), ...ids("retried", 5)]);
  await closesUntil(isSettled(15));
  expect(await first.stop()).toBe(0);

  const config = readFileSync(program.file, "utf8");
  writeFileSync(program.file, JSON.stringify({ ...JSON.parse(config), audit: { enabled: false } }));
  const second = await program.ready();
  await publish([...ids("plain-off", 10), ...ids("retried-off", 5)]);
  await expect.poll(() => world.receiver.accepted("/crm").length, { timeout: 20_000 }).toBe(30);
  expect(await second.stop()).toBe(0);
  writeFileSync(program.file, config);

  await program.ready();
  const look = new ClusterLook(BROKERS);
  for (const topic of [own.topics.calls, own.topics.deliveries("crm" as DestinationId)])
    await look.addPartitions(topic, 3);
  await publish([...ids("plain-on", 10), ...ids("retried-on", 5)]);
  const report = await closesUntil(isSettled(30));
  expectSum(rowOf(report, "crm"));
  expect(report.unknown.join("\n")).toMatch(/15 records of .*calls\/0: processed without a ledger/);
}, 120_000);

test("deliveries are rerouted while their topic is missing", async () => {
  const world = await useAudited("audit-reroute", {
    manner: usual,
    destinations: (url) => ({ crm: hook(url, "crm"), other: hook(url, "other") }),
  });
  const { publish, closesUntil, program, own } = world;
  await program.ready();
  await publish(ids("plain", 10));
  await closesUntil(isSettled(10));
  await own.kafka.admin.deleteTopics([own.topics.deliveries("crm" as DestinationId)]);
  await publish(ids("rerouted", 30));
  const report = await closesUntil(isSettled(40));
  for (const row of report.destinations) expect(row).toMatchObject({ routed: 40, delivered: 40 });
}, 120_000);
