// The number of deliveries that wait for a destination is the same everywhere: in `status` with and without processes,
// the console, `wait`, `cancel --dry-run` and `pause`. On a real Kafka.

import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../src/domain/ids.ts";
import { encodeRanges } from "../../src/kafka/consume/finished-ranges.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { createConsoleReader } from "../../src/operator/console/read/console-reader.ts";
import type { StatusReport } from "../../src/operator/look/status-report.ts";
import { earlyReleaseRecord, releasedRecord } from "../../src/router/control/operator-actions.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import type { UsedProgram } from "../support/kit/program.ts";
import { loaded } from "../support/kit/program.ts";
import { controlledPrograms, STAGES } from "../support/worlds/controlled-programs.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

const IDS = ["crm", "other"] as const;

/**
 * Returns what each of them reports for each destination: the records in its queue and retry topic, and in delay
 * topics.
 */
async function saidBy(world: UsedProgram, kafka: Kafka, admins: readonly string[]) {
  const said: Record<string, unknown> = {};
  const json = async (...args: string[]) => JSON.parse((await world.inProcess(args)).out);
  const shown = async (name: string, args: readonly string[]) => {
    const { destinations, delayTopics } = (await json("status", "--json", ...args)) as StatusReport;
    for (const { destination, waiting, awaitingRetry } of destinations) {
      said[`${name} ${destination}`] = [waiting, awaitingRetry];
    }
    said[`${name} delay topics`] = delayTopics.map(({ waiting }) => waiting);
  };
  await shown("status", []);
  if (admins.length > 0) await shown("status --admin", ["--admin", admins.join(",")]);
  const reader = createConsoleReader({
    current: () => loaded(world.file),
    load: () => loaded(world.file),
    admins,
    useKafka: (work) => work(kafka),
  });
  const { report } = await reader.pollOnce(new AbortController().signal);
  for (const { destination, waiting, awaitingRetry } of report.destinations)
    said[`console ${destination}`] = [waiting, awaitingRetry];
  said["console delay topics"] = report.delayTopics.map(({ waiting }) => waiting);
  for (const id of IDS) {
    const { remaining } = await json("wait", id, "--timeout", "1ms", "--json");
    said[`wait ${id}`] = [remaining.queued + remaining.due, remaining.awaitingRetry];
    const { count } = await json("cancel", id, "--dry-run", "--json");
    said[`cancel ${id}`] = count;
  }
  return said;
}

/** Returns what all of them must report. @param counts queued or due, and awaiting retry */
function agreed(
  counts: Readonly<Record<(typeof IDS)[number], readonly [number, number]>>,
  names: readonly string[],
) {
  const said: Record<string, unknown> = {};
  for (const id of IDS) {
    const [waiting, awaitingRetry] = counts[id];
    for (const name of [...names, "console", "wait"])
      said[`${name} ${id}`] = [waiting, awaitingRetry];
    said[`cancel ${id}`] = waiting + awaitingRetry;
  }
  const all = counts.crm[1] + counts.other[1];
  for (const name of [...names, "console"]) said[`${name} delay topics`] = [all];
  return said;
}

test("after a retry all of them count the same, and nothing that was released early", async () => {
  const { receiver, worldOf, publish, ledger, kafka } = await controlledPrograms();
  const world = worldOf("10m");
  const program = await world.ready(STAGES);
  // The deliveries of crm are after those of the other destination, which are not moved.
  for (const id of ["other", "crm"]) {
    receiver.refusing.add(id);
    await publish(40, 40);
    await expect.poll(() => receiver.refused(id).length).toBeGreaterThan(5);
  }
  receiver.refusing.clear();
  const unique = (all: readonly { readonly id: string }[]) => new Set(all.map(({ id }) => id)).size;
  const waits = (id: string) => unique(receiver.refused(id));
  for (const id of IDS) {
    const rest = () => unique(receiver.accepted(id)) + waits(id);
    await expect.poll(rest).toBe(ledger.length);
  }
  const admins = [await program.admin()];
  const names = ["status", "status --admin"];
  const before = { crm: [0, waits("crm")], other: [0, waits("other")] } as const;
  await expect.poll(() => saidBy(world, kafka, admins)).toEqual(agreed(before, names));
  expect(await world.inProcess(["retry", "crm"])).toMatchObject({ status: 0 });
  await expect.poll(() => unique(receiver.accepted("crm"))).toBe(ledger.length);
  const after = { crm: [0, 0], other: [0, waits("other")] } as const;
  await expect.poll(() => saidBy(world, kafka, admins)).toEqual(agreed(after, names));
  const drained = await world.inProcess(["wait", "crm", "--timeout", "10s"]);
  expect([drained.status, drained.out]).toEqual([0, "No deliveries are left for crm.\n"]);
});

test("records that are finished above the committed offset count nowhere, nor twice", async () => {
  const { world, kafka, topics, groups, idOf, write } = await stopped();
  // There were five in the queue. Three of them were scheduled for retry, and the first one is still in flight.
  await write(topics.deliveries("crm" as DestinationId), "crm", 5);
  await write(topics.delays(600_000), "crm", 3);
  await write(topics.delays(600_000), "other", 4);
  const line = topics.deliveries("crm" as DestinationId);
  await kafka.admin.commit(groups.deliver("crm" as DestinationId), line, [
    { partition: 0, offset: 0, metadata: encodeRanges(0, await idOf(line), [1, 3]) },
  ]);
  const delays = topics.delays(600_000);
  // One delivery of the other destination was returned out of order.
  await kafka.admin.commit(groups.delay("10m"), delays, [
    { partition: 0, offset: 0, metadata: encodeRanges(0, await idOf(delays), [4, 1]) },
  ]);
  const counts = { crm: [2, 3], other: [0, 3] } as const;
  expect(await saidBy(world, kafka, [])).toEqual(agreed(counts, ["status"]));
  const paused = JSON.parse((await world.inProcess(["pause", "crm", "--json"])).out);
  expect(paused.waiting).toMatchObject({ queued: 2, awaitingRetry: 3, isLowerBound: false });
});

test("what was released early from a topic that was recreated does not apply to the new one", async () => {
  const { world, kafka, topics, idOf, write } = await stopped();
  const delays = topics.delays(600_000);
  await write(delays, "crm", 3);
  await write(delays, "other", 2);
  const earlyRelease = {
    kind: "retry",
    destination: "crm" as DestinationId,
    id: "p1",
    by: "test",
  } as const;
  const atMs = Date.now() + 60_000;
  const producer = kafka.producer();
  onTestFinished(() => producer.close(1_000));
  const through = async (topicId: string) => {
    const done = { id: "p1", delay: "10m", partition: 0, through: 5, topicId };
    await producer.send([
      earlyReleaseRecord(topics.operatorActions, {
        ...earlyRelease,
        atMs,
        receivedBeforeMs: null,
      }),
      releasedRecord(topics.operatorActions, done),
    ]);
  };
  await through("AAAAAAAAAAAAAAAAAAAAAA");
  const all = { crm: [0, 3], other: [0, 2] } as const;
  expect(await saidBy(world, kafka, [])).toEqual(agreed(all, ["status"]));
  await through(await idOf(delays));
  const left = { crm: [0, 0], other: [0, 2] } as const;
  expect(await saidBy(world, kafka, [])).toEqual(agreed(left, ["status"]));
});

/** Creates topics with one partition, without a process. */
async function stopped() {
  const { kafka, prefix, topics, groups, worldOf, write } = await controlledPrograms();
  const world = worldOf("10m");
  const of = (id: string) => [
    topics.deliveries(id as DestinationId),
    topics.retries(id as DestinationId),
  ];
  const names = [...IDS.flatMap(of), topics.delays(600_000), topics.operatorActions];
  await createTopics(kafka, names);
  const writeTo = (topic: string, id: string, count: number) => {
    const nowMs = Date.now();
    const isScheduled = topic === topics.delays(600_000);
    const scheduled = {
      attempt: 1,
      retryCount: 1,
      firstAttemptAtMs: nowMs,
      dueAtMs: nowMs + 600_000,
    };
    const records = Array.from({ length: count }, () => {
      const delivery = deliveryOf({
        destination: id as DestinationId,
        messageId: randomUUID() as MessageId,
        receivedAtMs: nowMs - 60_000,
        ...(isScheduled ? scheduled : {}),
      });
      const headers = deliveryHeaders(delivery);
      return { partition: 0, value: {}, headers };
    });
    return write(topic.slice(prefix.length), records);
  };
  const idOf = async (topic: string) => (await kafka.admin.topicIds([topic])).get(topic) ?? "";
  return { world, kafka, topics, groups, write: writeTo, idOf };
}
