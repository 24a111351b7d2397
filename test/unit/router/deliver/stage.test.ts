// The deliver and delay stages together, on a Kafka in memory: every path of a delivery.

import { expect, test } from "vitest";

import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, EndpointRef, MessageId } from "../../../../src/domain/ids.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS, topics } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const URL_A = "http://a.test/";
const URL_B = "http://b.test/";

async function world(
  respond: (url: string, earlier: number) => ScriptedResponse,
  given: Parameters<typeof webhookDestination>[0] = {},
) {
  const destinations = [webhookDestination({ urls: [URL_A], ...given })];
  const made = new DeliverWorld({
    destinations,
    respond: ({ url }, earlier) => respond(url, earlier),
  });
  const deliver = await made.startDeliver();
  const delay = await made.startDelay();
  return { made, deliver, delay };
}

test("an accepted delivery is done, logged, and never read again", async () => {
  const { made, deliver } = await world(() => 200);
  made.append();
  await made.settle(2_000);
  expect(made.http.sent).toHaveLength(1);
  expect(made.attempts()).toMatchObject([
    {
      level: "info",
      destination: "crm",
      messageId: "m-1",
      attempt: 1,
      decision: "accepted",
      requests: [{ status: 200 }],
    },
  ]);
  const stopping = deliver[Symbol.asyncDispose]();
  await made.settle(1_000);
  await stopping;
  expect(made.http.openDestinations).toBe(0);
  await made.startDeliver();
  await made.settle(5_000);
  expect(made.http.sent).toHaveLength(1);
});

test("after two 503 it is accepted, each time after its retry delay and with the same bytes", async () => {
  const { made } = await world((_url, earlier) => (earlier < 2 ? 503 : 200));
  const { clock, http } = made;
  made.append();
  await made.settle(60_000);
  const [first, second, third] = http.sent;
  expect(http.sent).toHaveLength(3);
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThanOrEqual(30_000);
  expect(new Set(http.sent.map(({ body }) => body)).size).toBe(1);
  expect(new Set(http.sent.map(({ headers }) => headers["X-Signature"])).size).toBe(1);
  const [scheduled] = made.cluster.records(topics.delays(10_000));
  expect(headerTexts(scheduled ?? { headers: [] })).toMatchObject({
    "switchyard-attempt": "1",
    "switchyard-retry-count": "1",
    "switchyard-first-attempt-at": `${first?.atMs}`,
    "switchyard-due-at": `${(first?.atMs ?? 0) + 1 + 10_000}`,
    "switchyard-retry-topic": "sw.retries.crm",
    "switchyard-last-result": expect.stringMatching(/^crm\[1\] .*=503$/),
  });
  expect(made.attempts().map(({ level, decision }) => [level, decision])).toEqual([
    ["warn", "retry"],
    ["warn", "retry"],
    ["info", "accepted"],
  ]);
  const retryAt = new Date((first?.atMs ?? 0) + 1 + 10_000).toISOString();
  const next = { retryDelay: "10s", retryInMs: 10_000, retryAt };
  expect(made.attempts()[0]).toMatchObject({ stage: "deliver", ...next });
  expect(made.attempts()[2]).not.toHaveProperty("retryDelay");
  expect(clock.nowMs()).toBeGreaterThan(0);
});

test("a rejected delivery is a dead letter that says by whom and why", async () => {
  const { made } = await world(() => 404);
  const record = made.append();
  await made.settle(2_000);
  expect(made.deadLetters()).toMatchObject([
    {
      "switchyard-stage": "deliver",
      "switchyard-reason": "rejected",
      "switchyard-topic": "sw.deliveries.crm",
      "switchyard-offset": `${record.offset}`,
      "switchyard-message-id": "m-1",
      "switchyard-attempt": "1",
    },
  ]);
  expect(made.cluster.records(topics.deadLetters)[0]?.value).toEqual(record.value);
  expect(made.lines.find(({ msg }) => msg === "delivery.dead-lettered")).toMatchObject({
    ...{ stage: "deliver", destination: "crm", source: "web", messageId: "m-1" },
    ...{ reason: "rejected", level: "warn" },
  });
  expect(await made.metrics.text()).toContain(
    'switchyard_dead_letters_total{stage="deliver",reason="rejected",destination="crm"} 1\n',
  );
});

test("what nobody accepts expires: ten attempts in four hours, none after them", async () => {
  const { made } = await world(() => "refused");
  made.append();
  const startMs = made.clock.nowMs();
  await made.settle(5 * HOUR_MS);
  expect(made.http.sent).toHaveLength(10);
  expect(made.http.sent.every(({ atMs }) => atMs - startMs <= 4 * HOUR_MS + 1_000)).toBe(true);
  expect(made.deadLetters()).toMatchObject([
    { "switchyard-reason": "expired", "switchyard-attempt": "10" },
  ]);
});

test("with several endpoints only those that did not reject are tried again, until one accepts", async () => {
  const { made } = await world((url, earlier) => (url === URL_A ? 400 : earlier < 1 ? 500 : 200), {
    urls: [URL_A, URL_B],
  });
  made.append();
  await made.settle(60_000);
  expect(made.http.sent.map(({ url }) => url)).toEqual([URL_A, URL_B, URL_B]);
  expect(made.deadLetters()).toEqual([]);
});

test("deliver: every gives each endpoint that failed a record of its own", async () => {
  const { made } = await world((url, earlier) => (url === URL_A ? 422 : earlier < 1 ? 500 : 200), {
    urls: [URL_A, URL_B, "http://c.test/"],
    deliver: "every",
  });
  made.append();
  await made.settle(60_000);
  expect(made.http.sent.map(({ url }) => url)).toEqual([
    URL_A,
    URL_B,
    "http://c.test/",
    URL_B,
    "http://c.test/",
  ]);
  expect(made.deadLetters()).toMatchObject([
    {
      "switchyard-reason": "rejected",
      "switchyard-endpoint": expect.stringMatching(/^1(?:,[0-9a-f]{16})+$/),
    },
  ]);
});

test("calls of one key go one after the other, of other keys in parallel", async () => {
  const { made } = await world(() => ({ status: 200, afterMs: 100 }));
  for (const key of ["a", "a", "b", "c", "a"]) {
    made.append({ messageId: `${key}` as MessageId }, { key: Buffer.from(key) });
  }
  await made.settle(5_000);
  const [first = 0] = made.http.sent.map(({ atMs }) => atMs);
  expect(made.http.sent.map(({ atMs }) => atMs - first)).toEqual([0, 0, 0, 100, 200]);
});

test("a scheduled for retry call does not hold the later ones of its key back", async () => {
  const { made } = await world((_url, earlier) => (earlier === 0 ? 500 : 200));
  made.append({ messageId: "first" as MessageId });
  made.append({ messageId: "second" as MessageId });
  await made.settle(5_000);
  expect(made.attempts().map(({ messageId }) => messageId)).toEqual(["first", "second"]);
});

test("no more are in progress than the destination allows", async () => {
  const { made } = await world(() => ({ status: 200, afterMs: 100 }), { concurrency: 3 });
  const inFlight = async () =>
    /switchyard_delivery_attempts_in_flight\{destination="crm"\} (\d+)/.exec(
      await made.metrics.text(),
    )?.[1];
  for (let count = 0; count < 20; count += 1) made.append({}, { key: Buffer.from(`${count}`) });
  while (made.http.sent.length < 4) await made.settle(10);
  expect(await inFlight()).toBe("3");
  await made.settle(5_000);
  expect(made.http.sent).toHaveLength(20);
  expect(made.http.underWayMax).toBe(3);
  expect(await inFlight()).toBe("0");
});

test("Retry-After lengthens the wait, and holds the endpoint's other deliveries", async () => {
  const { made } = await world((_url, earlier) =>
    earlier === 0 ? { status: 503, retryAfter: "100" } : 200,
  );
  const startMs = made.clock.nowMs();
  made.append({ messageId: "first" as MessageId });
  await made.settle(2_000);
  made.append({ messageId: "second" as MessageId });
  await made.settle(200_000);
  expect(made.http.sent).toHaveLength(3);
  const [, ...later] = made.http.sent;
  for (const { atMs } of later) expect(atMs - startMs).toBeGreaterThanOrEqual(100_000);
  // The second delivery waits in the queue, which continues immediately; the first one waits in the delay topic of 2
  // minutes.
  expect(made.attempts()).toMatchObject([{ attempt: 1 }, { attempt: 1 }, { attempt: 2 }]);
});

test.each([
  ["no headers", { headers: [] }, "invalid-call", "switchyard-message-id"],
  ["no value", { value: null }, "undecodable", "no value"],
  ["no JSON", { value: Buffer.from("{") }, "undecodable", "JSON"],
  ["no call", { value: Buffer.from("[]") }, "invalid-call", "a list"],
  ["schema bytes", { value: Buffer.from([0, 0, 0, 0, 1]) }, "unknown-schema", "schema 1"],
])(
  "a record with %s is a dead letter, and the next one goes out",
  async (_name, record, reason, sentence) => {
    const { made } = await world(() => 200);
    made.append({}, record);
    made.append();
    await made.settle(2_000);
    expect(made.deadLetters()).toMatchObject([
      { "switchyard-reason": reason, "switchyard-error": expect.stringContaining(sentence) },
    ]);
    expect(made.http.sent).toHaveLength(1);
  },
);

test("a delete notification goes out as one", async () => {
  const { made } = await world(() => 200);
  made.append(
    {},
    { value: Buffer.from('{"type":"delete","userId":"u","timestamp":"x","messageId":"m"}') },
  );
  await made.settle(2_000);
  expect(made.http.sent[0]?.body).toBe(
    '{"type":"delete","userId":"u","timestamp":"2026-03-01T09:30:15.250Z"}',
  );
});

test("scheduled for retry records of a destination whose topics are gone are dead letters when due", async () => {
  const { made } = await world(() => 500);
  made.append();
  await made.settle(5_000);
  const { id } = webhookDestination();
  const gone = [topics.deliveries(id), topics.retries(id)];
  const deleting = made.kafka.admin.deleteTopics(gone);
  await made.settle(4_000);
  await deleting;
  expect(made.deadLetters()).toEqual([]);
  await made.settle(5_000);
  expect(made.deadLetters()).toMatchObject([
    { "switchyard-stage": "delay", "switchyard-reason": "unknown-destination" },
  ]);
});

test("a graceful stop waits for attempts in progress and starts no others", async () => {
  const { made, deliver } = await world(() => ({ status: 200, afterMs: 3_000 }), {
    concurrency: 2,
  });
  for (let count = 0; count < 5; count += 1) made.append({}, { key: Buffer.from(`${count}`) });
  await made.settle(1_000);
  const stopping = deliver[Symbol.asyncDispose]();
  await made.settle(10_000);
  await stopping;
  expect(made.http.sent).toHaveLength(2);
  await made.startDeliver();
  await made.settle(30_000);
  expect(made.http.sent).toHaveLength(5);
});

test("a crashed consumer is started again, and the others do not notice", async () => {
  const destinations = [webhookDestination(), webhookDestination({ id: "two" as DestinationId })];
  const made = new DeliverWorld({ destinations, respond: () => 200 });
  const stage = await made.startDeliver();
  await made.settle(2_000);
  const deleting = made.kafka.admin.deleteTopics([topics.deliveries("crm" as DestinationId)]);
  await made.settle(5_000);
  await deleting;
  expect(stage.healthProblems()).toHaveLength(1);
  expect(made.lines).toContainEqual(
    expect.objectContaining({ msg: "destination.consumer-restarting", level: "error" }),
  );
  made.append({ destination: "two" as DestinationId });
  await made.settle(2_000);
  expect(made.http.sent).toHaveLength(1);
  made.cluster.createTopic(topics.deliveries("crm" as DestinationId), 1);
  made.append();
  await made.settle(120_000);
  expect(made.http.sent).toHaveLength(2);
  expect(stage.healthProblems()).toEqual([]);
});

test("key, value and the producer's headers stay with a call that waits, and with its dead letter", async () => {
  const { made } = await world((_url, earlier) => (earlier === 0 ? 500 : 404));
  const trace = ["trace", Buffer.from("4bf92f")] as const;
  const headers = [trace, ...deliveryHeaders(deliveryOf())];
  const { key, value } = made.append({}, { key: Buffer.from("a user"), headers });
  await made.settle(15_000);
  for (const topic of [topics.delays(10_000), topics.deadLetters]) {
    const [record] = made.cluster.records(topic);
    expect(record).toMatchObject({ key, value });
    expect(record?.headers).toContainEqual(trace);
  }
});

test("deliver: every, an endpoint that rejects a later attempt: a dead letter at once", async () => {
  const { made } = await world((url, earlier) => (url === URL_A ? 200 : earlier < 1 ? 500 : 404), {
    urls: [URL_A, URL_B],
    deliver: "every",
  });
  made.append();
  await made.settle(12_000);
  expect(made.deadLetters()).toMatchObject([
    { "switchyard-reason": "rejected", "switchyard-attempt": "2" },
  ]);
  expect(made.cluster.records(topics.delays(30_000))).toEqual([]);
});

test.each(["loose", "strict"] as const)(
  "order: %s, a user with 2,000 calls that wait does not stop the others of the partition",
  async (order) => {
    const { made } = await world(() => ({ status: 200, afterMs: 200 }), { order });
    for (let count = 0; count < 2_000; count += 1) made.append({}, { key: Buffer.from("one") });
    for (let count = 0; count < 20; count += 1) made.append({}, { key: Buffer.from(`${count}`) });
    await made.settle(10_000);
    // One of the first user at a time, and all of the others.
    expect(made.http.sent.length).toBeGreaterThan(20 + 40);
    expect(made.http.sent.length).toBeLessThanOrEqual(20 + 51);
  },
);

test("no second has more requests than requestsPerSecond, also with several endpoints", async () => {
  const { made } = await world(() => 200, { urls: [URL_A, URL_B], requestsPerSecond: 4 });
  for (let count = 0; count < 20; count += 1) made.append({}, { key: Buffer.from(`${count}`) });
  await made.settle(20_000);
  const times = made.http.sent.map(({ atMs }) => atMs);
  expect(times).toHaveLength(40);
  for (let at = 4; at < times.length; at += 1) {
    expect((times[at] ?? 0) - (times[at - 4] ?? 0)).toBeGreaterThanOrEqual(1_000);
  }
});

test("a record for an endpoint that is gone is a dead letter that can be replayed once it is back", async () => {
  const { made } = await world(() => 200, { deliver: "every" });
  const endpoint = "gone" as EndpointRef;
  made.append({ endpoint });
  await made.settle(2_000);
  expect(made.http.sent).toEqual([]);
  expect(made.deadLetters()).toMatchObject([
    { "switchyard-reason": "unknown-destination", "switchyard-endpoint": endpoint },
  ]);
});
