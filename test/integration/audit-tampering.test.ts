// Audits on a real Kafka with which somebody tampers: an audit names exactly what was changed. Each test adds to the
// findings of the steps before, because nothing that was found is forgotten.

import { expect, test } from "vitest";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { ClusterLook } from "../../tools/kafka/cluster-look.ts";
import { headerTexts } from "../support/build/calls.ts";
import { expectClosed, found, ids, isSettled, rowOf, useAudited } from "../support/kit/audited.ts";
import { BROKERS } from "../support/kit/kafka.ts";

const CRM = "crm" as DestinationId;
const look = new ClusterLook(BROKERS);

async function useTampered(name: string) {
  const world = await useAudited(name, {
    manner: ({ id, earlier }) => (id.startsWith("retried") && earlier === 0 ? 503 : 200),
    destinations: (url) => ({
      crm: { messageIdHeader: true, endpoints: [{ url: `${url}/crm` }] },
      cut: { messageIdHeader: true, endpoints: [{ url: `${url}/cut` }] },
      recreated: { messageIdHeader: true, endpoints: [{ url: `${url}/recreated` }] },
    }),
  });
  const { own, program, auditUntil } = world;
  const { kafka, topics, groups, prefix } = own;
  return {
    ...world,
    /** Runs stages until the audit is done, and stops them. */
    runUntil: async (stages: string, isDone: Parameters<typeof auditUntil>[0]) => {
      const process = await program.ready(stages);
      const report = await auditUntil(isDone);
      expect(await process.stop()).toBe(0);
      return report;
    },
    /** Moves the offset of a group, which has no members, by a number of records. */
    move: async (group: string, topic: string, by: number) => {
      const [at] = await kafka.admin.committed(group, topic);
      const offset = (at?.offset ?? 0) + by;
      await kafka.admin.commit(group, topic, [{ partition: 0, offset, metadata: "" }]);
    },
    deliveries: topics.deliveries(CRM),
    deliver: groups.deliver(CRM),
    found: (report: Parameters<typeof found>[0]) => found(report, prefix),
  };
}

test("deliveries that are doubled, unknown, deleted before they were read, or lost with their topic are named", async () => {
  const world = await useTampered("audit-records");
  const { own, publish, program, runUntil, command, deliveries, auditUntil, closesUntil } = world;
  const first = await program.ready("route,deliver,delay");
  await publish([...ids("plain", 10), ...ids("retried", 5)]);
  await closesUntil(isSettled(15));
  // What is written before the first ledger record may be written again, if a process crashes before it.
  await publish(ids("later", 1));
  await closesUntil(isSettled(16));

  const doubled = (await own.recordsIn("deliveries.crm")).at(-1);
  if (doubled === undefined) throw new Error("nothing was delivered");
  const { key, value, headers } = doubled;
  const id = headerTexts(doubled)[DELIVERY_HEADER.messageId];
  const unknown = headers.map(([name, bytes]): [string, Buffer | null] => {
    return [name, name === DELIVERY_HEADER.messageId ? Buffer.from("unknown-0") : bytes];
  });
  await own.producer.send([
    { topic: deliveries, key, value, headers },
    { topic: deliveries, key, value, headers: unknown },
  ]);
  await publish(ids("last", 1));
  const tampered = [`doubled ${id} crm deliveries.crm`, "extra unknown-0 crm deliveries.crm"];
  const after = await auditUntil(isSettled(17));
  expect([after.status, world.found(after)]).toEqual([3, tampered]);
  expect(after.findings.map(({ offset }) => offset).toSorted()).toEqual([16, 17]);
  expect(rowOf(after, "crm")).toMatchObject({ tooMany: 2, missing: 0, delivered: 19 });
  expect(await first.stop()).toBe(0);

  // The deliver stage does not run while the first two of six deliveries are deleted, and a whole topic with two.
  await publish(ids("waiting", 6));
  await runUntil("route", ({ calls }) => calls.routed === 23);
  const [_one, _two, third] = (await own.recordsIn("deliveries.cut")).slice(-6);
  const cut = own.topics.deliveries("cut" as DestinationId);
  await look.deleteRecordsBefore(cut, [{ partition: 0, offset: third?.offset ?? 0 }]);
  await runUntil("deliver", ({ destinations }) => destinations.every(({ queued }) => queued === 0));
  await publish(ids("gone", 2));
  await runUntil("route", ({ calls }) => calls.routed === 25);
  await own.kafka.admin.deleteTopics([own.topics.deliveries("recreated" as DestinationId)]);
  await command("topics", "--apply");
  await publish(ids("late", 3));
  const last = await runUntil("route,deliver,delay", isSettled(28));
  expect([last.status, last.unnamed]).toEqual([3, []]);
  expect(world.found(last)).toEqual([
    ...tampered,
    "missing gone-0 recreated calls",
    "missing gone-1 recreated calls",
    "missing waiting-0 cut calls",
    "missing waiting-1 cut calls",
  ]);
  expect(rowOf(last, "cut")).toMatchObject({ routed: 28, delivered: 26, missing: 2 });
  expect(rowOf(last, "recreated")).toMatchObject({ routed: 28, delivered: 26, missing: 2 });
}, 120_000);

test("offsets that were moved: what was skipped is named, and what is processed again is counted", async () => {
  const world = await useTampered("audit-offsets");
  const { own, publish, runUntil, move, deliver, deliveries } = world;
  const { topics, groups } = own;
  const delay = { group: groups.delay("1s"), topic: topics.delays(1_000) };
  await publish([...ids("plain", 10), ...ids("retried", 5)]);
  expectClosed(await runUntil("route,deliver,delay", isSettled(15)));

  await move(groups.route, topics.calls, -3);
  await move(deliver, deliveries, -2);
  await move(delay.group, delay.topic, -1);
  const returned = (await own.recordsIn("delays.1s")).at(-1);
  const isCrm =
    returned !== undefined && headerTexts(returned)[DELIVERY_HEADER.destination] === CRM;
  await publish(ids("more", 2));
  const again = await runUntil("route,deliver,delay", isSettled(17));
  expectClosed(again);
  const { routed, repeated } = rowOf(again, "crm");
  expect([routed, repeated - (isCrm ? 1 : 0)]).toEqual([20, 2]);

  await publish(ids("skipped", 2));
  await move(groups.route, topics.calls, 2);
  await publish(["unsent-0", "retried-late-0", "retried-late-1"]);
  await runUntil("route", ({ calls }) => calls.routed === 20);
  await move(deliver, deliveries, 1);
  await runUntil("deliver", (report) => rowOf(report, "cut").awaitingRetry === 2);
  const { offset = 0 } = (await own.kafka.admin.committed(delay.group, delay.topic))[0] ?? {};
  const first = (await own.recordsIn("delays.1s")).find((each) => each.offset >= offset);
  if (first === undefined) throw new Error("nothing awaits a retry");
  await move(delay.group, delay.topic, 1);
  const skipped = await runUntil("deliver,delay", isSettled(20));
  const { [DELIVERY_HEADER.messageId]: id, [DELIVERY_HEADER.destination]: to } = headerTexts(first);
  const unreturned = `skipped ${id} ${to} delays.1s`;
  expect([skipped.status, skipped.unnamed]).toEqual([3, []]);
  expect(world.found(skipped)).toEqual(
    [
      ...["skipped skipped-0 - calls", "skipped skipped-1 - calls"],
      ...["skipped unsent-0 crm deliveries.crm", unreturned],
    ].toSorted(),
  );
}, 120_000);
