// Endpoints that respond 410 while the deliver stage runs, on a Kafka in memory.

import { expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { goneRecord } from "../../../../src/router/control/operator-actions.ts";
import type { Batch } from "../../../../src/router/destinations/webhook/settings.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import {
  CRM,
  DeliverWorld,
  HOUR_MS,
  READ_MS,
  topics,
} from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const A = "http://a.test/";
const B = "http://b.test/";
const BATCH: Batch = { calls: 3, bytes: 4_096, waitMs: 250, format: "array", responses: "whole" };
const user = () => "u";

async function worldOf(
  given: Parameters<typeof webhookDestination>[0],
  respond: (sent: Sent, earlier: number) => ScriptedResponse,
) {
  const destination = webhookDestination({ messageIdHeader: true, ...given });
  const world = new DeliverWorld({ destinations: [destination], respond });
  await world.control();
  const { deliver } = await world.run();
  const rejected = () =>
    world.deadLetters().map((each) => {
      const { "switchyard-message-id": id, "switchyard-reason": reason } = each;
      return `${id} ${reason}`;
    });
  return { world, deliver, destination, rejected };
}

const expiredOf = (reason: string) =>
  `switchyard_deliveries_expired_while_due_total{destination="crm",reason="${reason}"} 1\n`;

test("the only endpoint is gone: the queue keeps its order, due retries wait, and a resume ends it", async () => {
  const statuses = [503, 503, 410];
  const { world, deliver, rejected } = await worldOf({ urls: [A], concurrency: 1 }, () => {
    return statuses.shift() ?? 200;
  });
  world.calls(2);
  await world.settle(5_000);
  world.calls(3, { user });
  await world.settle(HOUR_MS);
  // The retries of m0 and m1 are due.
  expect(world.sent()).toEqual(["m0", "m1", "m2"]);
  expect(rejected()).toEqual(["m2 rejected"]);
  const [status] = deliver.destinations?.() ?? [];
  const hold = { reason: "gone", since: expect.any(String), until: null };
  expect(status).toMatchObject({ state: "on-hold", hold, endpoints: [{ unavailable: hold }] });
  expect(deliver.healthProblems()).toEqual([
    expect.stringMatching(/^destination crm: endpoint crm\[1\] a\.test responded 410 at 20.*Z/),
  ]);
  expect(await world.metrics.text()).toContain(
    'switchyard_destination_on_hold{destination="crm",reason="gone"} 1\n',
  );
  expect(world.lines.filter(({ msg }) => msg === "endpoint.gone")).toEqual([
    expect.objectContaining({ destination: "crm", endpointId: "1", endpointName: "crm[1] a.test" }),
  ]);
  await world.resume(undefined, [A]);
  await world.settle(5_000);
  const later = world.sent().slice(3);
  expect(later.filter((id) => id === "m3" || id === "m4")).toEqual(["m3", "m4"]);
  expect(new Set(later)).toEqual(new Set(["m0", "m1", "m3", "m4"]));
  expect([rejected(), deliver.healthProblems()]).toEqual([["m2 rejected"], []]);
});

test("a delivery that was attempted expires when its window ends, and the queue still waits", async () => {
  const { world, rejected } = await worldOf({ urls: [A] }, (_sent, earlier) =>
    earlier === 0 ? 503 : 410,
  );
  world.calls(1);
  await world.settle(1_000);
  world.calls(1);
  await world.settle(1_000);
  world.calls(1);
  await world.settle(5 * HOUR_MS);
  expect(world.sent()).toEqual(["m0", "m1"]);
  expect(rejected()).toEqual(["m1 rejected", "m0 expired"]);
  expect(world.deadLetters().at(-1)?.["switchyard-error"]).toContain(
    "the next attempt was due, but every endpoint had responded 410",
  );
  expect(await world.metrics.text()).toContain(expiredOf("gone"));
});

test("it stays gone over a restart, and another URL gets requests", async () => {
  const { world, deliver, destination } = await worldOf({ urls: [A] }, ({ url }) =>
    url === A ? 410 : 200,
  );
  world.calls(3, { user });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0"]);
  await world.stop(deliver);
  await world.control();
  const restarted = await world.startDeliver();
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0"]);
  const { endpoints } = webhookDestination({ urls: [B] });
  await world.reload(restarted, [{ ...destination, endpoints }]);
  expect(world.sent("b.test")).toEqual(["m1", "m2"]);
  await world.reload(restarted, [destination]);
  world.calls(1, { user });
  await world.settle(HOUR_MS);
  expect(world.sent("a.test")).toEqual(["m0"]);
});

test("a 410 removes old records of what is not configured, and a process that still has such a URL asks it once", async () => {
  const old = "http://old.test/";
  const removed = "removed" as DestinationId;
  const { world, deliver, destination } = await worldOf({ urls: [A, B] }, ({ url }) =>
    url === B ? 200 : 410,
  );
  const gone = (url: string, days: number, id = CRM) => {
    const atMs = world.clock.nowMs() - days * 24 * HOUR_MS;
    const record = { destination: id, endpoint: endpointKey(url), id: "1", atMs };
    world.cluster.append(goneRecord(topics.operatorActions, record));
  };
  gone(B, 400);
  gone(old, 31);
  gone("http://recent.test/", 29);
  gone(old, 31, removed);
  await world.settle(READ_MS);
  const left = async () => {
    const { goneOf } = await world.control();
    return [CRM, removed].map((id) => [...goneOf(id).keys()]);
  };
  const urls = (...all: readonly string[]) => all.map(endpointKey);
  world.calls(1);
  await world.settle(READ_MS);
  expect(world.sent()).toEqual(["m0"]);
  expect(await left()).toEqual([urls(B, "http://recent.test/", A), []]);
  // As with an older configuration.
  await world.stop(deliver);
  const { endpoints } = webhookDestination({ urls: [A, old] });
  world.destinations = [{ ...destination, endpoints }];
  await world.startDeliver();
  world.calls(3, { user });
  await world.settle(HOUR_MS);
  expect(world.sent("old.test")).toHaveLength(1);
  expect(await left()).toEqual([urls("http://recent.test/", A, old), []]);
});

test("any: the other endpoint gets everything, and what only it rejects is a dead letter", async () => {
  const { world, deliver, rejected } = await worldOf({ urls: [A, B] }, ({ url }, earlier) =>
    url === A ? 410 : earlier === 2 ? 422 : 200,
  );
  for (let count = 0; count < 4; count += 1) {
    world.calls(1);
    await world.settle(2_000);
  }
  expect(world.sent("a.test")).toEqual(["m0"]);
  expect(world.sent("b.test")).toEqual(["m0", "m1", "m2", "m3"]);
  expect(rejected()).toEqual(["m2 rejected"]);
  expect(deliver.destinations?.()[0]).toMatchObject({ state: "delivering", hold: null });
});

test("every: the other endpoint gets everything, and the share of the one that is gone is a dead letter", async () => {
  const { world, rejected } = await worldOf({ urls: [A, B], deliver: "every" }, ({ url }) =>
    url === A ? 410 : 200,
  );
  for (let count = 0; count < 3; count += 1) {
    world.calls(1);
    await world.settle(2_000);
  }
  await world.settle(HOUR_MS);
  expect(world.sent("a.test")).toEqual(["m0"]);
  expect(world.sent("b.test")).toEqual(["m0", "m1", "m2"]);
  expect(rejected()).toEqual(["m0 rejected", "m1 rejected", "m2 rejected"]);
  expect(world.deadLetters().map((each) => each["switchyard-endpoint"])).toEqual(
    Array(3).fill(expect.stringMatching(/^1,/)),
  );
});

test("the calls of a batch that got the 410 are dead letters, none is sent again, and the next batch waits", async () => {
  const { world, rejected } = await worldOf(
    { urls: [A], batch: BATCH, concurrency: 1 },
    (_sent, earlier) => (earlier === 0 ? 410 : 200),
  );
  world.calls(5, { user });
  await world.settle(HOUR_MS);
  expect(world.sent()).toEqual(["m0,m1,m2"]);
  expect(rejected()).toEqual(["m0 rejected", "m1 rejected", "m2 rejected"]);
  await world.resume(undefined, [A]);
  await world.settle(1_000);
  expect(world.sent()).toEqual(["m0,m1,m2", "m3,m4"]);
});

test("without the topic of operator actions, the endpoint gets a request every minute", async () => {
  const destination = webhookDestination({ urls: [A], messageIdHeader: true });
  const statuses = [410, 410];
  const respond = () => statuses.shift() ?? 200;
  const world = new DeliverWorld({ destinations: [destination], respond });
  await world.run();
  const startMs = world.clock.nowMs();
  world.calls(4, { user });
  await world.settle(59_000);
  expect(world.sent()).toEqual(["m0"]);
  await world.settle(120_000);
  expect(world.sent()).toEqual(["m0", "m1", "m2", "m3"]);
  const [, second = 0, third = 0] = world.http.sent.map(({ atMs }) => atMs - startMs);
  expect([Math.floor(second / 60_000), Math.floor(third / 60_000)]).toEqual([1, 2]);
});
