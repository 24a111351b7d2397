import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import { type AuditReport, audit } from "../../../../src/operator/audit/audit.ts";
import { ledgerRecord } from "../../../../src/router/ledger/ledger-record.ts";
import { identityOf, type Outcome, Tallies } from "../../../../src/router/ledger/tallies.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const topics = topicNames("");
const groups = groupNames("");
const CRM = "crm" as DestinationId;

async function settled<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isPending = true;
  const waiting = promise.finally(() => {
    isPending = false;
  });
  while (isPending) await clock.advance(1_000);
  return await waiting;
}

/**
 * What the route stage did with the first call, for each destination; once for each process.
 *
 * @param delivered what the deliver stage did with it.
 */
async function auditRouted(
  outcomes: readonly (readonly [destination: string, outcome: Outcome])[],
  processes: readonly string[],
  delivered: readonly Outcome[] = [],
): Promise<AuditReport> {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  for (const topic of [topics.calls, topics.deliveries(CRM), topics.ledger]) {
    cluster.createTopic(topic, 1);
  }
  const call = { type: "track", messageId: "m1", userId: "u", event: "e" };
  const value = Buffer.from(JSON.stringify(call));
  cluster.append({ topic: topics.calls, key: null, value, headers: [] });
  const kafka = cluster.connect();
  const ids = await settled(clock, kafka.admin.topicIds([topics.calls]));
  for (const process of processes) {
    const tallies = new Tallies();
    const identity = identityOf("m1", clock.nowMs());
    tallies.add("", "in", identity);
    for (const [destination, outcome] of outcomes) tallies.add(destination, outcome, identity);
    const start = { offset: 0, isOurs: true };
    const place = { topic: topics.calls, partition: 0, topicId: ids.get(topics.calls) ?? "" };
    const read = [{ ...place, ranges: [[0, 1] as const], start }];
    const record = { group: groups.route, process, number: 1, read, isLast: false, tallies };
    cluster.append(ledgerRecord(topics.ledger, record));
  }
  if (delivered.length > 0) {
    const tallies = new Tallies();
    for (const outcome of delivered) tallies.add(CRM, outcome, identityOf("m1", clock.nowMs()));
    const own = { group: groups.deliver(CRM), process: "d", number: 1, read: [], isLast: false };
    cluster.append(ledgerRecord(topics.ledger, { ...own, tallies }));
  }
  const { signal } = new AbortController();
  const source = { kafka, topics, groups, destinations: [CRM], signal };
  const period = { fromMs: 0, toMs: clock.nowMs() + 1_200_000 };
  return await settled(clock, audit({ ...source, onRead: () => undefined }, period));
}

test("a destination whose topic other programs read is not audited: what is not there is not missing", async () => {
  const { destinations, findings, unnamed } = await auditRouted([["warehouse", "queued"]], ["p"]);
  expect(destinations.get("warehouse")).toMatchObject({ isAudited: false, routed: 1, missing: 0 });
  expect([findings, unnamed]).toEqual([[], []]);
});

test("a call that the route stage dead-letters for a destination is one of its deliveries", async () => {
  const { destinations } = await auditRouted([["crm", "dead:rule-failed"]], ["p"]);
  const deadLettered = new Map([["rule-failed", 1]]);
  expect(destinations.get("crm")).toMatchObject({ isAudited: true, routed: 1, deadLettered });
});

test("a call that was routed again after a crash is one call, which was routed twice", async () => {
  const { calls, findings } = await auditRouted([["crm", "skipped:filtered"]], ["p", "q"]);
  expect(calls).toMatchObject({ routed: 1, repeated: 1, waiting: 0 });
  expect(findings).toEqual([]);
});

const SET_ASIDE: readonly Outcome[] = ["in", "wait"];
const READ_BACK: readonly Outcome[] = ["in:wait", "delivered"];

test.each<[string, readonly Outcome[], object]>([
  ["waits behind an earlier one", SET_ASIDE, { waiting: 1 }],
  ["was read back and delivered", [...SET_ASIDE, ...READ_BACK], { delivered: 1 }],
  [
    "was set aside by an owner that crashed before its ledger record, and read back",
    ["in", "skipped:settled", ...READ_BACK],
    { delivered: 1 },
  ],
  ["had ended when its record was read", ["in", "skipped:settled"], { dropped: 1 }],
])("a delivery that %s", async (_what, outcomes, expected) => {
  const { destinations, findings, unnamed } = await auditRouted(
    [["crm", "queued"]],
    ["p"],
    outcomes,
  );
  const none = { parts: 0, delivered: 0, waiting: 0, dropped: 0, queued: 0, skipped: new Map() };
  expect(destinations.get("crm")).toMatchObject({ routed: 1, ...none, ...expected });
  expect([findings, unnamed]).toEqual([[], []]);
});
