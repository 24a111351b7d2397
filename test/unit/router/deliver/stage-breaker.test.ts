// The circuit breaker in the deliver stage: a destination on a Kafka in memory, with failing endpoints.

import { expect, onTestFinished, test } from "vitest";
import type { MessageId } from "../../../../src/domain/ids.ts";
import { earlyReleaseRecord } from "../../../../src/router/control/operator-actions.ts";
import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import {
  DeliverWorld,
  HOUR_MS,
  RETRY_DELAYS_MS,
  topics,
  type WorldOptions,
} from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const A = "https://a.example.com/hook";
const B = "https://b.example.com/hook";

/** Runs the deliver and delay stages for one destination. Each call has a different key. */
async function worldOf(
  given: Partial<WebhookDestination> & { readonly urls: readonly string[] },
  respond: (sent: Sent, earlier: number) => ScriptedResponse,
  more: Partial<WorldOptions> = {},
) {
  const destination = webhookDestination({ concurrency: 8, ...given });
  const world = new DeliverWorld({ destinations: [destination], respond, ...more });
  const stages = [await world.startDeliver(), await world.startDelay()];
  onTestFinished(async () => {
    for (const stage of stages) await world.stop(stage);
  });
  return world;
}

test("an endpoint that is down gets no requests: most records wait without a request", async () => {
  const world = await worldOf({ urls: [A] }, () => ({ status: 503, afterMs: 100 }));
  world.calls(2_000);
  await world.clock.advance(8_000);
  // There are 8 requests at a time, 100 ms each: the circuit opens after a second of failures, and a probe follows
  // after 5 s.
  expect(world.http.sent.length).toBeLessThan(120);
  expect(world.lines).toContainEqual(
    expect.objectContaining({
      msg: "endpoint.circuit-changed",
      state: "open",
      endpointId: "1",
    }),
  );
});

test("every delivery that was attempted at a dead endpoint is requested ten times, then expires", async () => {
  const world = await worldOf({ urls: [A] }, () => ({ status: 503, afterMs: 100 }));
  world.calls(60);
  await world.clock.advance(5 * HOUR_MS);
  const deadLetters = world.deadLetters();
  expect(deadLetters).toHaveLength(60);
  for (const deadLetter of deadLetters) {
    expect(deadLetter["switchyard-reason"]).toBe("expired");
    expect(deadLetter["switchyard-attempt"]).toBe("10");
  }
});

test("when the endpoint is back, a probe finds out and the load rises step by step", async () => {
  let backAtMs = Number.POSITIVE_INFINITY;
  const world = await worldOf({ urls: [A], concurrency: 16 }, ({ atMs }) => ({
    status: atMs >= backAtMs ? 200 : 503,
    afterMs: 100,
  }));
  world.calls(600);
  await world.clock.advance(2_000);
  backAtMs = world.clock.nowMs() + 1_000;
  world.http.underWayMax = 0;
  const before = world.http.sent.length;
  await world.clock.advance(5_500);
  const sinceBack = world.http.sent.slice(before).filter(({ atMs }) => atMs >= backAtMs);
  const [probe, ...others] = sinceBack.map(({ atMs }) => atMs);
  // No other request is sent during the probe.
  expect(others.every((atMs) => atMs >= (probe ?? 0) + 100)).toBe(true);
  await world.clock.advance(10 * 60_000);
  expect(world.http.underWayMax).toBe(16);
  expect(world.deadLetters()).toEqual([]);
  const accepted = world.attempts().filter(({ decision }) => decision === "accepted");
  expect(new Set(accepted.map(({ messageId }) => messageId)).size).toBe(600);
});

test("what a person has retried goes at the pace of the ramp", async () => {
  let backAtMs = Number.POSITIVE_INFINITY;
  const tookMs = 100;
  const destination = webhookDestination({ urls: [A], concurrency: 64 });
  const world = new DeliverWorld({
    destinations: [destination],
    respond: ({ atMs }) =>
      atMs >= backAtMs ? { status: 200, afterMs: tookMs } : { status: 503, afterMs: 1_000 },
  });
  await world.control();
  const stages = [await world.startDeliver(), await world.startDelay()];
  await world.clock.advance(2_000);
  for (let number = 0; number < 100; number += 1) {
    const key = Buffer.from(`u-${number}`);
    world.append({ messageId: `m-${number}` as MessageId }, { key });
  }
  await world.clock.advance(3_000);
  const [delay = 0] = RETRY_DELAYS_MS;
  expect(world.cluster.records(topics.delays(delay)).length).toBe(100);
  const atMs = world.clock.nowMs();
  backAtMs = atMs;
  const asked = {
    kind: "retry",
    destination: destination.id,
    id: "r",
    atMs,
    by: "command",
  } as const;
  world.cluster.append(
    earlyReleaseRecord(topics.operatorActions, { ...asked, receivedBeforeMs: null }),
  );
  await world.clock.advance(delay - 4_000);
  const sentMs = world.http.sent.flatMap((sent) => (sent.atMs >= atMs ? [sent.atMs] : []));
  expect(sentMs.length).toBe(100);
  // One request is the probe, then two are sent, and each response allows one more.
  const [firstMs = 0] = sentMs;
  const sentIn = (rounds: number) =>
    sentMs.filter((sent) => sent < firstMs + rounds * tookMs).length;
  expect(sentIn(1)).toBe(1);
  for (const rounds of [2, 3, 4, 5]) expect(sentIn(rounds)).toBeLessThan(2 ** rounds);
  const stopped = Promise.all(stages.map((stage) => stage[Symbol.asyncDispose]()));
  await world.clock.advance(60_000);
  await stopped;
});

test("an endpoint that fails now and then gets after an outage what it got before", async () => {
  const random = createPrng(5);
  const requests = async (outageS: number) => {
    let fromMs = 0;
    const world = await worldOf({ urls: [A], concurrency: 32 }, ({ atMs }) => {
      const isOut = atMs > fromMs + 5_000 && atMs < fromMs + 5_000 + outageS * 1_000;
      return { status: isOut || random.fraction() < 0.3 ? 503 : 200, afterMs: 100 };
    });
    fromMs = world.clock.nowMs();
    for (let second = 0; second < 60; second += 1) {
      world.calls(100);
      await world.clock.advance(1_000);
    }
    return world.http.sent.filter(({ atMs }) => atMs >= fromMs + 30_000).length;
  };
  const undisturbed = await requests(0);
  expect(await requests(3)).toBeGreaterThan(undisturbed * 0.8);
});

test("a delivery whose count is below 0 is a dead letter, and holds up no other", async () => {
  const world = await worldOf({ urls: [A] }, () => 503);
  world.calls(1, { retryCount: -1 });
  world.calls(1, { attempt: -1 });
  world.calls(3);
  await world.clock.advance(5_000);
  expect(world.deadLetters().map((deadLetter) => deadLetter["switchyard-error"])).toEqual([
    "the header switchyard-retry-count is below 0",
    "the header switchyard-attempt is below 0",
  ]);
  expect(world.cluster.records("sw.delays.10s")).toHaveLength(3);
});

test("with several endpoints an open one counts as failed, and the other one gets everything", async () => {
  const world = await worldOf({ urls: [A, B] }, ({ url }) => ({
    status: url === A ? 500 : 200,
    afterMs: 100,
  }));
  world.calls(400);
  await world.clock.advance(10_000);
  const toA = world.http.sent.filter(({ url }) => url === A).length;
  const toB = world.http.sent.filter(({ url }) => url === B).length;
  expect(toB).toBe(400);
  expect(toA).toBeLessThan(120);
});

test("an endpoint that rejects is alive: its breaker stays closed", async () => {
  const world = await worldOf({ urls: [A] }, () => ({ status: 400, afterMs: 100 }));
  world.calls(200);
  await world.clock.advance(10_000);
  expect(world.http.sent).toHaveLength(200);
});

test("an endpoint that fails now and then stays closed", async () => {
  const world = await worldOf({ urls: [A] }, (_, earlier) => ({
    status: earlier % 10 === 0 ? 200 : 503,
    afterMs: 50,
  }));
  world.calls(300);
  await world.clock.advance(5_000);
  expect(world.lines.some(({ msg }) => msg === "endpoint.circuit-changed")).toBe(false);
});

test.each([
  ["succeeds", 200],
  ["fails", 503],
])(
  "a drain while others wait for a probe that %s ends with it, and leaves them",
  async (...row) => {
    const [, status] = row;
    const destination = webhookDestination({ urls: [A], concurrency: 8 });
    let probeAtMs = Number.POSITIVE_INFINITY;
    const world = new DeliverWorld({
      destinations: [destination],
      respond: ({ atMs }) =>
        atMs > probeAtMs ? { status, afterMs: 4_000 } : { status: 503, afterMs: 100 },
    });
    const stage = await world.startDeliver();
    world.calls(100);
    await world.clock.advance(2_000);
    probeAtMs = world.clock.nowMs();
    await world.clock.advance(4_500);
    world.calls(100);
    await world.clock.advance(1_000);
    expect(world.http.underWay).toBe(1);
    const scheduled = () => world.cluster.records(topics.delays(RETRY_DELAYS_MS[0] ?? 0)).length;
    const before = { sent: world.http.sent.length, retryCount: scheduled() };
    const stopped = stage[Symbol.asyncDispose]();
    await world.clock.advance(5_000);
    await stopped;
    // If the probe fails, only its delivery is scheduled for retry.
    const more = status === 200 ? 0 : 1;
    expect({ sent: world.http.sent.length, retryCount: scheduled() }).toEqual({
      ...before,
      retryCount: before.retryCount + more,
    });
  },
);

test("requests a second are the destination's: a process with half of the partitions has half", async () => {
  const destination = webhookDestination({ urls: [A], concurrency: 64, requestsPerSecond: 20 });
  const world = new DeliverWorld({
    destinations: [destination],
    respond: () => 200,
    partitions: 2,
  });
  const first = await world.startDeliver();
  const other = world.cluster.connect();
  world.kafka = other;
  const second = await world.startDeliver();
  await world.clock.advance(30_000);
  for (let number = 0; number < 2_000; number += 1) {
    world.append({ destination: destination.id }, { key: Buffer.from(`u-${number}`) });
  }
  const before = world.http.sent.length;
  await world.clock.advance(10_000);
  const sent = world.http.sent.length - before;
  expect(sent).toBeGreaterThan(150);
  expect(sent).toBeLessThanOrEqual(202);
  const stopped = Promise.all([first, second].map((stage) => stage[Symbol.asyncDispose]()));
  await world.clock.advance(60_000);
  await stopped;
});
