// Settings and destinations change while the deliver stage runs, on a Kafka in memory.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import { signature } from "../../../../src/router/destinations/webhook/signature.ts";
import { listsOf } from "../../../support/build/lists.ts";
import { endpointOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import {
  DeliverWorld,
  HOUR_MS,
  idOf,
  RETRY_DELAYS_MS,
  topics,
} from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const A = "http://a.test/";
const B = "http://b.test/";
const NEW = "new" as DestinationId;
const REBALANCES = "switchyard_consumer_rebalances_total";
const crm = (given: Parameters<typeof webhookDestination>[0] = {}) =>
  webhookDestination({ urls: [A], messageIdHeader: true, ...given });

async function worldOf(
  destinations: readonly WebhookDestination[],
  respond: (sent: Sent, earlier: number) => ScriptedResponse = () => 200,
) {
  const world = new DeliverWorld({ destinations, respond });
  return { world, ...(await world.run()) };
}

/** Returns the number of rebalances by destination. */
async function rebalances(world: DeliverWorld): Promise<Readonly<Record<string, number>>> {
  const found = (await world.metrics.text()).matchAll(
    new RegExp(`^${REBALANCES}{stage="deliver",destination="(.*)"} (\\d+)$`, "gm"),
  );
  return Object.fromEntries([...found].map(([, id = "", count]) => [id, Number(count)]));
}

test("a new destination is delivered to, and no other consumer rebalances", async () => {
  const { world, deliver } = await worldOf([crm()]);
  const before = await rebalances(world);
  const added = webhookDestination({ id: NEW, urls: [B] });
  world.createTopics([added]);
  world.calls(1, { destination: NEW });
  await world.reload(deliver, [crm(), added]);
  world.calls(1);
  await world.settle(2_000);
  expect(world.http.sent.map(({ url }) => url)).toEqual([B, A]);
  expect(await rebalances(world)).toEqual({ ...before, [NEW]: 1 });
});

test("of a removed one the attempt in flight ends, the rest stays on its topic until it is back", async () => {
  const slow = crm({ concurrency: 1 });
  const { world, deliver } = await worldOf([slow], () => ({ status: 200, afterMs: 3_000 }));
  world.calls(3);
  await world.settle(1_000);
  expect(world.http.sent).toHaveLength(1);
  const ended = world.update(deliver, []);
  await world.settle(30_000);
  await ended;
  expect(world.http.sent).toHaveLength(1);
  expect(world.attempts()).toMatchObject([{ decision: "accepted", messageId: "m0" }]);
  expect(world.http.openDestinations).toBe(0);
  expect(await world.metrics.text()).not.toMatch(/switchyard_consumer_lag_records{.*"crm"/);
  await world.reload(deliver, [slow]);
  await world.settle(30_000);
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
});

test("one that is removed and back before its attempts have ended is read again after them", async () => {
  const slow = crm({ concurrency: 1 });
  const { world, deliver } = await worldOf([slow], () => ({ status: 200, afterMs: 3_000 }));
  world.calls(2);
  await world.settle(1_000);
  const ended = world.update(deliver, []);
  const back = world.update(deliver, [slow]);
  await world.settle(30_000);
  await Promise.all([ended, back]);
  expect(world.sent()).toEqual(["m0", "m1"]);
  expect(world.http.underWayMax).toBe(1);
});

test("a changed secret, header and URL count from the next request, without a rebalance", async () => {
  const { world, deliver } = await worldOf([crm()]);
  const before = await rebalances(world);
  world.calls(1);
  await world.settle(1_000);
  const changed = crm({ sharedSecret: "another", endpoints: [endpointOf(B, [["X-Team", "crm"]])] });
  await world.reload(deliver, [changed]);
  world.calls(1);
  await world.settle(1_000);
  const [first, second] = world.http.sent;
  expect(first?.headers["X-Signature"]).toBe(signature(Buffer.from(first?.body ?? ""), "s3cr3t"));
  expect(second).toMatchObject({ url: B, headers: { "X-Team": "crm" } });
  expect(second?.headers["X-Signature"]).toBe(
    signature(Buffer.from(second?.body ?? ""), "another"),
  );
  expect(await rebalances(world)).toEqual(before);
  // The gauge of the removed endpoint is also removed.
  const text = await world.metrics.text();
  expect(text.match(/^switchyard_circuit_breaker_state{.*$/gm)).toEqual([
    `switchyard_circuit_breaker_state{destination="crm",endpoint_id="1",endpoint_name="crm[1] ${new URL(B).host}"} 0`,
  ]);
});

test("an attempt in progress ends by the settings that it began with", async () => {
  const every = crm({ urls: [A, B], deliver: "every" });
  const { world, deliver } = await worldOf([every], ({ url }, earlier) =>
    url === A
      ? { status: 200, afterMs: 100 }
      : { status: earlier === 0 ? 503 : 200, afterMs: 3_000 },
  );
  world.calls(1);
  await world.settle(1_000);
  // With `any`, the delivery would be processed, because A has accepted it.
  await world.reload(deliver, [crm({ urls: [A, B], deliver: "any" })]);
  expect(world.attempts()).toMatchObject([{ decision: "retry" }]);
  await world.settle(60_000);
  expect(world.http.sent.map(({ url }) => url)).toEqual([A, B, B]);
});

const ROTATED = `${B}?token=2`;
test.each<[string, WebhookDestination["endpoints"], readonly string[]]>([
  ["another URL", [endpointOf(A), endpointOf(ROTATED)], [A, B, ROTATED]],
  ["another position", [endpointOf(B), endpointOf(A)], [A, B, B]],
  ["none, because it was removed", [endpointOf(A)], [A, B]],
])("a retry for one endpoint waits while it gets %s", async (_what, endpoints, sent) => {
  const every = crm({ urls: [A, B], deliver: "every" });
  const { world, deliver } = await worldOf([every], ({ url }, earlier) =>
    url === A || earlier > 0 || url === ROTATED ? 200 : 503,
  );
  world.calls(1);
  await world.settle(1_000);
  await world.reload(deliver, [crm({ endpoints, deliver: "every" })]);
  await world.settle(30_000);
  expect(world.http.sent.map(({ url }) => url)).toEqual(sent);
  expect(world.deadLetters()).toMatchObject(
    endpoints.length > 1 ? [] : [{ "switchyard-error": expect.stringContaining("was removed") }],
  );
});

test("an attempt in flight while a URL changes ends at the old one, and is retried at the new one alone", async () => {
  const every = (b: string) => crm({ urls: [A, b], deliver: "every" });
  const { world, deliver } = await worldOf([every(B)], ({ url }) =>
    url === B ? { status: 401, afterMs: 3_000 } : 200,
  );
  world.calls(2);
  await world.settle(1_000);
  await world.reload(deliver, [every(ROTATED)]);
  expect(world.attempts()).toMatchObject([{ decision: "rejected" }, { decision: "rejected" }]);
  expect(world.attempts()).toMatchObject([
    { requests: [{ endpointId: "1" }, { endpointId: "2" }] },
    { requests: [{ endpointId: "1" }, { endpointId: "2" }] },
  ]);
  expect(deliver.destinations?.()).toMatchObject([{ state: "delivering", failingSince: null }]);
  expect(world.deadLetters()).toMatchObject([
    { "switchyard-error": expect.stringContaining("crm[2] ") },
    { "switchyard-error": expect.stringContaining("crm[2] ") },
  ]);
});

test("any: an endpoint that rejected a call is asked again once its URL is changed", async () => {
  const any = (a: string) => crm({ urls: [a, B] });
  const { world, deliver } = await worldOf([any(A)], ({ url }) => {
    if (url === A) return 401;
    return url === B ? 503 : 200;
  });
  world.calls(1);
  await world.settle(1_000);
  const mended = `${A}?token=2`;
  await world.reload(deliver, [any(mended)]);
  expect(world.http.sent.map(({ url }) => url)).toEqual([A, B, mended, B]);
  expect(world.deadLetters()).toEqual([]);
});

test("with its own ID, an endpoint keeps its series and its retries, whatever its URL and position", async () => {
  const withId = (url: string) => ({ ...endpointOf(url), id: "eu" });
  const before = crm({ endpoints: [withId(A), endpointOf(B)], deliver: "every" });
  const after = crm({ endpoints: [endpointOf(B), withId(`${A}?token=2`)], deliver: "every" });
  const { world, deliver } = await worldOf([before], ({ url }) => (url === A ? 503 : 200));
  const series = async () =>
    (await world.metrics.text()).match(/^switchyard_circuit_breaker_state{.*"eu".*$/gm);
  const first = await series();
  world.calls(1);
  await world.settle(1_000);
  await world.reload(deliver, [after]);
  expect(world.http.sent.map(({ url }) => url)).toEqual([A, B, `${A}?token=2`]);
  expect(await series()).toEqual(first);
  expect(first).toHaveLength(1);
});

test("a destination of another type leaves its group, and starts again with a sender of that type", async () => {
  const { world, deliver } = await worldOf([crm()]);
  const before = await rebalances(world);
  await world.reload(deliver, [{ ...crm(), kind: "other" }]);
  world.calls(1);
  await world.settle(30_000);
  expect(await rebalances(world)).toEqual({ crm: (before.crm ?? 0) + 1 });
  expect(world.http.openedKinds).toEqual(["webhook", "other"]);
  expect(world.sent()).toEqual(["m0"]);
});

test.each([
  ["paused", { paused: true }],
  ["disabled", { enabled: false }],
])("%s and back: the queue is on hold, and continues in order", async (because, still) => {
  const { world, deliver } = await worldOf([crm({ concurrency: 1 })]);
  await world.reload(deliver, [crm({ concurrency: 1, ...still })]);
  world.calls(3);
  await world.settle(HOUR_MS);
  expect(world.http.sent).toEqual([]);
  expect(await world.metrics.text()).toContain(
    `switchyard_destination_on_hold{destination="crm",reason="${because}"} 1`,
  );
  await world.reload(deliver, [crm({ concurrency: 1 })]);
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
});

test("a retry that waits while the destination is paused goes when it is not", async () => {
  const { world, deliver } = await worldOf([crm()], (_sent, earlier) =>
    earlier === 0 ? 503 : 200,
  );
  world.calls(1);
  await world.settle(1_000);
  await world.reload(deliver, [crm({ paused: true })]);
  await world.settle(HOUR_MS);
  expect(world.http.sent).toHaveLength(1);
  await world.reload(deliver, [crm()]);
  expect(world.http.sent).toHaveLength(2);
  expect(world.deadLetters()).toEqual([]);
});

test("concurrency counts from the next start: fewer until enough have ended, more at once", async () => {
  const respond = () => ({ status: 200, afterMs: 20_000 });
  const { world, deliver } = await worldOf([crm({ concurrency: 4 })], respond);
  world.calls(20);
  await world.settle(1_000);
  expect(world.http.underWay).toBe(4);
  await world.reload(deliver, [crm({ concurrency: 1 })]);
  await world.settle(10_000);
  expect(world.http.underWay).toBe(1);
  await world.reload(deliver, [crm({ concurrency: 8 })]);
  expect(world.http.underWay).toBe(8);
});

test("an open breaker stays open when something else changes, and not for another endpoint", async () => {
  const { world, deliver } = await worldOf([crm()], ({ url }) => (url === A ? 503 : 200));
  world.calls(100);
  await world.settle(3_000);
  world.calls(100);
  await world.settle(3_000);
  expect(deliver.healthProblems()).toEqual([
    `destination crm: endpoint crm[1] ${new URL(A).host} keeps failing; its circuit breaker is open`,
  ]);
  const sentToA = () => world.http.sent.filter(({ url }) => url === A).length;
  const before = sentToA();
  deliver.update?.(listsOf({ destinations: [crm({ sharedSecret: "other" })] }));
  await world.settle(1);
  expect(deliver.healthProblems()).toHaveLength(1);
  expect(sentToA()).toBe(before);
  await world.reload(deliver, [crm({ urls: [B] })]);
  expect(deliver.healthProblems()).toEqual([]);
  await world.settle(RETRY_DELAYS_MS[0] ?? 0);
  expect(world.deadLetters()).toEqual([]);
  const delivered = new Set(world.http.sent.filter(({ url }) => url === B).map(idOf));
  expect(delivered.size).toBe(200);
});

test("a share of an endpoint that is gone is a dead letter, also when it waited for it", async () => {
  const every = crm({ urls: [A, B], deliver: "every" });
  const { world, deliver } = await worldOf([every], ({ url }) =>
    url === A ? 200 : { status: 503, retryAfter: "600" },
  );
  world.calls(1);
  await world.settle(60_000);
  await world.reload(deliver, [crm({ urls: [A], deliver: "every" })]);
  await world.settle(HOUR_MS);
  expect(world.deadLetters()).toMatchObject([{ "switchyard-reason": "unknown-destination" }]);
});

test("a batch that is added or enlarged is as large as one that was there from the start", async () => {
  const batch = { bytes: 8_000_000, waitMs: 1_000, format: "array", responses: "whole" } as const;
  const { world, deliver } = await worldOf([crm()]);
  const largest = async (calls: number) => {
    const before = world.http.sent.length;
    await world.reload(deliver, [crm({ batch: { ...batch, calls } })]);
    world.calls(4_000);
    await world.settle(60_000);
    const sizes = world.http.sent.slice(before).map(({ headers }) => headers["X-Switchyard-Batch"]);
    return Math.max(...sizes.map(Number));
  };
  expect(await largest(400)).toBe(400);
  expect(await largest(1_000)).toBe(1_000);
});

test("a limit on requests counts from the next one, and goes when it is taken away", async () => {
  const { world, deliver } = await worldOf([crm()]);
  await world.reload(deliver, [crm({ requestsPerSecond: 5 })]);
  world.calls(100);
  await world.settle(10_000);
  const limited = world.http.sent.length;
  expect(limited).toBeGreaterThanOrEqual(45);
  expect(limited).toBeLessThanOrEqual(55);
  deliver.update?.(listsOf({ destinations: [crm()] }));
  await world.settle(100);
  expect(world.http.sent).toHaveLength(100);
});

test("a higher limit on requests applies to the next one", async () => {
  const { world, deliver } = await worldOf([crm({ requestsPerSecond: 0.01 })]);
  world.calls(100);
  await world.settle(2_000);
  expect(world.http.sent).toHaveLength(1);
  await world.reload(deliver, [crm({ requestsPerSecond: 100 })]);
  await world.settle(2_000);
  expect(world.http.sent).toHaveLength(100);
});

test("after partitions were added, all processes together keep to the limit", async () => {
  const limited = crm({ requestsPerSecond: 20, concurrency: 64 });
  const world = new DeliverWorld({ destinations: [limited], respond: () => 200, partitions: 2 });
  const start = async () => {
    const stage = await world.startDeliver();
    world.kafka = world.cluster.connect();
    return stage;
  };
  const stages = [await start(), await start()];
  await world.settle(10_000);
  world.cluster.addPartitions(topics.deliveries(limited.id), 10);
  stages.push(await start());
  await world.settle(60_000);
  world.calls(1_000, { user: (call) => `u${call}` });
  await world.settle(10_000);
  expect(world.http.sent.length).toBeGreaterThan(150);
  expect(world.http.sent.length).toBeLessThanOrEqual(202);
  for (const stage of stages) await world.stop(stage);
});

test("a reload while the partitions of limited destinations are counted starts no consumer twice", async () => {
  const world = new DeliverWorld({
    destinations: [crm({ requestsPerSecond: 5 })],
    respond: () => 200,
  });
  const deliver = await world.startDeliver();
  await world.reload(deliver, [crm({ requestsPerSecond: 5 })]);
  expect(await rebalances(world)).toEqual({ crm: 1 });
  world.append();
  await world.settle(2_000);
  expect(world.http.sent).toHaveLength(1);
});

test("a limited destination starts although its partitions cannot be counted yet", async () => {
  const world = new DeliverWorld({
    destinations: [crm({ requestsPerSecond: 5 })],
    respond: () => 200,
  });
  const { describe } = world.kafka.admin;
  let asked = 0;
  world.kafka.admin.describe = async (...topics) => {
    asked += 1;
    if (asked === 1) throw new Error("no broker responds");
    return await describe.apply(world.kafka.admin, topics);
  };
  const deliver = await world.startDeliver();
  await Promise.all([deliver.joined, world.settle(5_000)]);
  world.append();
  await world.settle(2_000);
  expect(world.http.sent).toHaveLength(1);
  expect(asked).toBe(2);
});

test("nothing is lost and nothing doubled while destinations come, change and go", async () => {
  const others = Array.from({ length: 20 }, (_, at) =>
    webhookDestination({ id: `d${at}`, urls: [`http://d${at}.test/`], messageIdHeader: true }),
  );
  const { world, deliver } = await worldOf([crm()]);
  world.createTopics(others);
  const now: WebhookDestination[] = [];
  const retired: Promise<void>[] = [];
  for (const other of others) {
    world.calls(5, { destination: other.id });
    world.calls(5);
    now.push(other);
    retired.push(world.update(deliver, [crm({ sharedSecret: `s${now.length}` }), ...now]));
    await world.settle(200);
  }
  for (const other of others) {
    world.calls(5, { destination: other.id });
    world.calls(5);
    now.shift();
    retired.push(world.update(deliver, [crm(), ...now]));
    await world.settle(200);
  }
  await world.settle(30_000);
  retired.push(world.update(deliver, [crm(), ...others]));
  await world.settle(60_000);
  await Promise.all(retired);
  const ids = world.sent();
  expect(ids).toHaveLength(400);
  expect(new Set(ids).size).toBe(400);
  expect(world.cluster.records(topics.deadLetters)).toEqual([]);
});
