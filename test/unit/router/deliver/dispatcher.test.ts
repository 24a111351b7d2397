// The dispatcher with a timer that is less exact than a manual clock.

import { expect, test } from "vitest";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DispatchWorld, recordAt } from "../../../support/worlds/dispatch-world.ts";

const FAILED: SendResult = { kind: "response", status: 503, retryAfter: null, durationMs: 1 };
const ACCEPTED: SendResult = { ...FAILED, status: 200 };

const range = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => recordAt(from + at));

function respondToAll(world: DispatchWorld, result: SendResult): void {
  while (world.open.length > 0) world.respond(result);
}

test("a timer that is early does not leave a queue on hold for good", () => {
  const world = new DispatchWorld(webhookDestination({ concurrency: 1 }), 2);
  world.fetched(range(0, 19));
  respondToAll(world, FAILED);
  world.nowMs += 1_000;
  world.fetched(range(19, 2));
  respondToAll(world, FAILED);
  expect(world.work.hold()?.reason).toBe("circuit-open");
  expect(world.sent).toHaveLength(20);
  const [first] = world.timers.splice(0);
  expect(first?.atMs).toBe(world.nowMs + 5_000);
  world.nowMs = (first?.atMs ?? 0) - 1;
  first?.then();
  expect(world.sent).toHaveLength(20);
  const [again] = world.timers.splice(0);
  expect(again?.atMs).toBe(first?.atMs);
  world.nowMs = again?.atMs ?? 0;
  again?.then();
  expect(world.sent).toHaveLength(21);
});

test("a batch is sent although its time ends between two readings of the clock", () => {
  const limits = { calls: 2, bytes: 10_000, waitMs: 10 };
  const batch = { ...limits, format: "array", responses: "whole" } as const;
  const world = new DispatchWorld(webhookDestination({ batch }));
  world.fetched(range(0, 1));
  const [due] = world.timers.splice(0);
  const dueAtMs = due?.atMs ?? 0;
  let readings = 0;
  const read = () => {
    readings += 1;
    return readings === 1 ? dueAtMs - 1 : dueAtMs;
  };
  Object.defineProperty(world, "nowMs", { get: read });
  due?.then();
  for (const timer of world.timers.splice(0)) timer.then();
  expect(world.sent).toHaveLength(1);
});

test("a retry that waits for the probes of two endpoints goes to the one that accepts first", () => {
  const urls = ["http://a.test/", "http://b.test/"];
  const world = new DispatchWorld(webhookDestination({ urls }), 2);
  world.fetched(range(0, 19));
  respondToAll(world, FAILED);
  world.advance(1_000).fetched(range(19, 1));
  respondToAll(world, FAILED);
  world.advance(1_000).fetched(range(100, 1), "retry").fetched(range(101, 1), "retry");
  expect(world.open.map(({ url }) => url)).toEqual(urls);
  const [first, second] = world.open.splice(0);
  second?.done(ACCEPTED);
  world.advance(500);
  expect(world.open).toMatchObject([{ url: "http://b.test/", calls: ["101"] }]);
  first?.done(FAILED);
});

test("a larger share of the rate applies to the next request", () => {
  const world = new DispatchWorld(webhookDestination({ requestsPerSecond: 1 }), 51);
  world.fetched(range(0, 2));
  expect(world.sent).toHaveLength(1);
  for (let count = 1; count < 51; count += 1) world.work.own({ finish: () => undefined }, "queue");
  world.advance(1_000);
  expect(world.sent).toHaveLength(2);
});

test("retries that wait for the end of a pause, and for their rate then, all go", () => {
  const destination = webhookDestination({ requestsPerSecond: 2 });
  const world = new DispatchWorld({ ...destination, paused: true }, 2);
  world.fetched([], "queue").fetched(range(0, 8), "retry");
  expect(world.finished).toEqual([]);
  world.update({ paused: false });
  // The same settings are applied again, as in a reload of the configuration.
  world.update({});
  while (world.timers.length > 0) {
    respondToAll(world, ACCEPTED);
    world.advance((world.timers[0]?.atMs ?? 0) - world.nowMs);
  }
  respondToAll(world, ACCEPTED);
  expect(world.finished.toSorted()).toEqual(range(0, 8).map(({ offset }) => `0/${offset}`));
});
