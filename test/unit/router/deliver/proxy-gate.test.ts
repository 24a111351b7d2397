import { expect, test } from "vitest";
import { ProxyGate } from "../../../../src/router/deliver/proxy-gate.ts";
import type {
  NotSent,
  RequestResult,
  SendResult,
} from "../../../../src/router/destinations/port.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DispatchWorld, recordAt } from "../../../support/worlds/dispatch-world.ts";

const FAILURE = {
  proxy: "proxy.example.com:3128",
  error: "the proxy proxy.example.com:3128 refused the connection",
};

const isClosed = (gate: ProxyGate, nowMs: number) => gate.closedUntilMs(nowMs) > nowMs;

function closed(): ProxyGate {
  const gate = new ProxyGate();
  gate.start(0);
  expect(gate.failed(FAILURE, 0)).toBe(1_000);
  return gate;
}

test("probes are due after 1, 2, 4 and then every 8 s, one at a time", () => {
  const gate = closed();
  let nowMs = 0;
  for (const waitMs of [1_000, 2_000, 4_000, 8_000, 8_000]) {
    expect(isClosed(gate, nowMs + waitMs - 1)).toBe(true);
    nowMs += waitMs;
    expect(isClosed(gate, nowMs)).toBe(false);
    expect(gate.start(nowMs)).toBe(5_000);
    expect(isClosed(gate, nowMs)).toBe(true);
    expect(gate.closedUntilMs(nowMs)).toBe(Number.POSITIVE_INFINITY);
    gate.failed(FAILURE, nowMs);
  }
  expect(gate.failure(nowMs)).toEqual({ ...FAILURE, sinceMs: 0, untilMs: nowMs + 8_000 });
});

test("probes of a proxy that hangs start 8 s after one another, although each takes 5 s", () => {
  const gate = closed();
  for (const [atMs, leftMs] of [
    [1_000, 0],
    [6_000, 0],
    [11_000, 3_000],
    [19_000, 3_000],
  ] as const) {
    expect(isClosed(gate, atMs)).toBe(false);
    gate.start(atMs);
    expect(gate.failed(FAILURE, atMs + 5_000)).toBe(leftMs);
  }
});

test("a probe that passes opens the gate, and the next failure starts with 1 s again", () => {
  const gate = closed();
  gate.start(1_000);
  gate.failed(FAILURE, 1_000);
  gate.start(3_000);
  expect(gate.passed()).toBe(true);
  expect(gate.failure(3_000)).toBe(null);
  expect(isClosed(gate, 3_000)).toBe(false);
  expect(gate.failed(FAILURE, 4_000)).toBe(1_000);
});

test("requests that started before the gate closed change nothing, and delay the probe until they have ended", () => {
  const gate = new ProxyGate();
  for (let request = 0; request < 3; request += 1) gate.start(0);
  gate.failed(FAILURE, 0);
  expect(gate.closedUntilMs(4_000)).toBe(Number.POSITIVE_INFINITY);
  expect(gate.failed({ ...FAILURE, error: "another" }, 4_000)).toBe(null);
  expect(gate.passed()).toBe(false);
  expect(isClosed(gate, 4_000)).toBe(false);
  expect(gate.failure(1_500)).toEqual({ ...FAILURE, sinceMs: 0, untilMs: 1_000 });
});

test("the next probe is due at once when something has changed", () => {
  const gate = closed();
  gate.probeNow(400);
  expect(isClosed(gate, 400)).toBe(false);
});

test("a probe that nothing waits for ends the hold, but not the gate", () => {
  const gate = closed();
  expect(gate.failure(2_000)).toMatchObject(FAILURE);
  expect(gate.failure(2_001)).toBe(null);
  expect(gate.start(60_000)).toBe(5_000);
  expect(gate.failure(60_001)).toMatchObject({ sinceMs: 0 });
});

test("a process that hears of another one's probes waits for them, and takes over when they end", () => {
  const gate = closed();
  gate.heardFailure(2_000, 900);
  expect(gate.closedUntilMs(900)).toBe(4_400);
  gate.heardFailure(1_000_000, 4_000);
  expect(gate.closedUntilMs(4_000)).toBe(4_000 + 8_000 + 1_500);
  expect(isClosed(gate, 13_500)).toBe(false);
});

test("a process does not wait for another one's probes for more than 30 s", () => {
  const gate = closed();
  for (let atMs = 500; atMs < 30_000; atMs += 8_000) gate.heardFailure(8_000, atMs);
  expect(gate.closedUntilMs(29_999)).toBe(30_000);
  expect(isClosed(gate, 30_000)).toBe(false);
});

test("reports do not close an open gate, do not end a probe, and open a closed gate", () => {
  const gate = new ProxyGate();
  expect(gate.start(0)).toBe(null);
  gate.heardFailure(1_000, 0);
  expect(isClosed(gate, 0)).toBe(false);
  expect(gate.heardSuccess()).toBe(false);
  gate.failed(FAILURE, 0);
  gate.start(1_000);
  gate.heardFailure(1_000, 1_000);
  expect(gate.closedUntilMs(1_000)).toBe(Number.POSITIVE_INFINITY);
  expect(gate.heardSuccess()).toBe(true);
  expect(isClosed(gate, 1_000)).toBe(false);
});

test("a clock that was set back does not keep the gate closed", () => {
  const gate = new ProxyGate();
  gate.failed(FAILURE, 100_000);
  expect(isClosed(gate, 0)).toBe(false);
});

const NOT_SENT: NotSent = { kind: "not-sent", ...FAILURE, durationMs: 1 };
const ACCEPTED: SendResult = { kind: "response", status: 200, retryAfter: null, durationMs: 1 };
const FAILED: SendResult = { ...ACCEPTED, status: 503 };

function respondToAll(world: DispatchWorld, result: RequestResult): void {
  while (world.open.length > 0) world.respond(result);
}

const range = (count: number, key?: string) =>
  Array.from({ length: count }, (_, at) => recordAt(at, key === undefined ? {} : { key }));

test("while the proxy fails, deliveries wait without an attempt, and then go in their order", () => {
  const world = new DispatchWorld(webhookDestination({ concurrency: 3 }));
  world.fetched([...range(3), recordAt(3, { key: "k" }), recordAt(4, { key: "k" })]);
  respondToAll(world, NOT_SENT);
  expect(world.work.hold()).toEqual({
    reason: "proxy",
    sinceMs: world.nowMs,
    untilMs: world.nowMs + 1_000,
    ...FAILURE,
  });
  for (let probes = 1; probes <= 5; probes += 1) {
    world.advance(8_000);
    expect(world.open).toHaveLength(1);
    respondToAll(world, NOT_SENT);
  }
  expect([world.attempted, world.written, world.finished]).toEqual([[], [], []]);
  expect(new Set(world.traced)).toEqual(new Set(["not-sent"]));
  const before = world.sent.length;
  world.advance(8_000);
  respondToAll(world, ACCEPTED);
  expect(world.work.hold()).toBe(null);
  expect(world.calls.slice(before)).toEqual([["0"], ["1"], ["2"], ["3"], ["4"]]);
  expect(world.attempted.map(({ delivery }) => delivery.attempt)).toEqual([0, 0, 0, 0, 0]);
  expect(world.finished).toHaveLength(5);
});

test("a request without a token is no attempt, and does not tell whether the proxy works", () => {
  const world = new DispatchWorld(webhookDestination({ concurrency: 1 }));
  const noToken: NotSent = { ...NOT_SENT, proxy: null, error: "no token" };
  world.fetched(range(1)).respond(noToken);
  expect([world.work.hold(), world.open.length]).toEqual([null, 1]);
  world.respond(NOT_SENT).advance(1_000).respond(noToken);
  expect(world.work.hold()).toMatchObject({ reason: "proxy", ...FAILURE });
  world.respond(ACCEPTED);
  expect(world.work.hold()).toBe(null);
  expect(world.calls).toEqual([["0"], ["0"], ["0"], ["0"]]);
  expect(world.attempted.map(({ delivery }) => delivery.attempt)).toEqual([0]);
  expect([world.finished, world.written]).toEqual([["0/0"], []]);
});

test("new settings are tried with the next request, while a probe in progress goes on", () => {
  const world = new DispatchWorld(webhookDestination({}));
  world.fetched(range(2, "k"));
  world.respond(NOT_SENT);
  for (const waitMs of [1_000, 2_000, 4_000, 8_000]) world.advance(waitMs).respond(NOT_SENT);
  const sinceMs = world.work.hold()?.sinceMs;
  expect(world.open).toHaveLength(0);
  world.work.update(webhookDestination({}));
  expect(world.open).toHaveLength(1);
  world.work.update(webhookDestination({}));
  expect(world.open).toHaveLength(1);
  world.respond(NOT_SENT);
  expect(world.work.hold()).toMatchObject({ reason: "proxy", sinceMs });
  world.work.update(webhookDestination({}));
  world.respond(ACCEPTED).respond(ACCEPTED);
  expect(world.work.hold()).toBe(null);
  expect(world.attempted.map(({ delivery }) => delivery.attempt)).toEqual([0, 0]);
});

test("a batch that was not sent is put together again", () => {
  const batch = {
    calls: 3,
    bytes: 10_000,
    waitMs: 10,
    format: "array",
    responses: "whole",
  } as const;
  const world = new DispatchWorld(webhookDestination({ batch }));
  world.fetched(range(5, "k")).advance(10);
  expect(world.calls).toEqual([["0", "1", "2"]]);
  world.respond(NOT_SENT);
  expect(world.open).toEqual([]);
  world.advance(1_000);
  world.respond(ACCEPTED);
  world.advance(10).respond(ACCEPTED);
  expect(world.calls.slice(1)).toEqual([
    ["0", "1", "2"],
    ["3", "4"],
  ]);
  expect(world.finished).toHaveLength(5);
  expect(world.written).toEqual([]);
});

test.each([
  ["any", ACCEPTED, {}],
  ["any", FAILED, { "0/0": "retry" }],
  ["every", ACCEPTED, { "0/0": "retry" }],
] as const)(
  "with %s, an endpoint without a proxy that fails gets the call",
  (deliver, result, then) => {
    const urls = ["https://a.example.com/", "https://b.example.com/"];
    const world = new DispatchWorld(webhookDestination({ deliver, urls }));
    world.fetched(range(1));
    world.respond(NOT_SENT);
    world.respond(result);
    expect(world.work.hold()).toBe(null);
    expect(world.attempted).toHaveLength(1);
    expect(world.finalStates).toEqual(then);
  },
);

test("deliveries that were not sent are not sent later by a process that lost their partition", async () => {
  const world = new DispatchWorld(webhookDestination({}));
  world.fetched(range(2, "k"));
  const drained = world.handlers.get("queue/0")?.drain();
  world.respond(NOT_SENT);
  await drained;
  world.advance(60_000);
  expect(world.sent).toHaveLength(1);
});

test("a retry whose window ends while the proxy fails expires, and says why", () => {
  const world = new DispatchWorld(webhookDestination({}));
  const firstAttemptAtMs = world.nowMs - 1_000;
  const delivery = { attempt: 1, retryCount: 1, firstAttemptAtMs };
  world.fetched([recordAt(0, { delivery })], "retry");
  world.respond(NOT_SENT);
  for (let hours = 0; hours < 5; hours += 1) {
    for (let at = 0; at < 450; at += 1) {
      world.advance(8_000);
      respondToAll(world, NOT_SENT);
    }
  }
  expect(world.written).toMatchObject([{ kind: "dead-letter", reason: "expired" }]);
  expect(world.written[0]).toMatchObject({ error: expect.stringContaining("the proxy failed") });
  expect(world.attempted).toEqual([]);
});

const A_AND_B = ["https://a.example.com/", "https://b.example.com/"];

test("every: a share of an endpoint that the proxy forbids goes back to a delay topic, and holds up no other", () => {
  const world = new DispatchWorld(webhookDestination({ deliver: "every", urls: A_AND_B }));
  world.fetched(range(1)).respond(NOT_SENT).respond(ACCEPTED);
  const [first] = world.written;
  expect(first).toMatchObject({ kind: "retry" });
  const headers = first?.outgoing.headers ?? [];
  world.fetched([{ ...recordAt(1), headers }], "retry");
  expect(world.open).toEqual([]);
  expect(world.written).toHaveLength(2);
  expect(world.work.hold()).toBe(null);
});

test("any: retries that waited for the proxy go to the first endpoint behind it that is reached", () => {
  const world = new DispatchWorld(webhookDestination({ urls: A_AND_B }));
  const delivery = { attempt: 1, retryCount: 1, firstAttemptAtMs: world.nowMs };
  const retries = [1, 2, 3].map((offset) => recordAt(offset, { delivery }));
  world.fetched(range(1)).respond(NOT_SENT).respond(NOT_SENT);
  world.fetched(retries, "retry");
  expect(world.work.hold()).toMatchObject({ reason: "proxy" });
  world.advance(1_000);
  while (world.open.length > 0) {
    world.respond(world.open[0]?.url === A_AND_B[0] ? NOT_SENT : ACCEPTED);
  }
  expect(world.finished.toSorted()).toEqual(["0/0", "0/1", "0/2", "0/3"]);
});

test("when one endpoint is reached, the proxy in front of the others is probed at once", () => {
  const world = new DispatchWorld(webhookDestination({ deliver: "every", urls: A_AND_B }));
  world.fetched(range(1));
  const [a, b] = world.open.splice(0);
  a?.done(NOT_SENT);
  world.advance(900);
  b?.done(NOT_SENT);
  world.advance(100);
  expect(world.open.map(({ url }) => url)).toEqual([A_AND_B[0]]);
  world.fetched([recordAt(1), recordAt(2)]);
  world.respond(ACCEPTED);
  expect(world.open.map(({ url }) => url)).toContain(A_AND_B[1]);
});

test("when a part of a batch that was split is not sent, the rest is put back with it, in its order", () => {
  const batch = {
    calls: 4,
    bytes: 10_000,
    waitMs: 10,
    format: "array",
    responses: "whole",
  } as const;
  const world = new DispatchWorld(webhookDestination({ batch }));
  world.fetched(range(4, "k")).advance(10);
  world.respond({ ...ACCEPTED, status: 413 });
  expect(world.calls.at(-1)).toEqual(["0", "1"]);
  world.respond(NOT_SENT);
  expect(world.open).toEqual([]);
  expect(world.written).toEqual([]);
  world.advance(1_000);
  expect(world.calls.at(-1)).toEqual(["0", "1", "2", "3"]);
  world.respond(ACCEPTED);
  expect(world.finished).toHaveLength(4);
});
