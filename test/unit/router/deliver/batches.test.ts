// Units of several deliveries, with a row for each sentence: which deliveries share a request, when it is sent, and
// what happens to each delivery.

import { expect, test } from "vitest";
import { readDelivery } from "../../../../src/domain/delivery.ts";
import type { EarlyRelease } from "../../../../src/router/control/operator-actions.ts";
import { partitionRecordsMax } from "../../../../src/router/deliver/running-destination.ts";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import type { Batch } from "../../../../src/router/destinations/webhook/settings.ts";
import { refsOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DispatchWorld, recordAt, START_MS } from "../../../support/worlds/dispatch-world.ts";

const BATCH: Batch = { calls: 3, bytes: 4_096, waitMs: 250, format: "array", responses: "whole" };
const A = "http://a.test/";
const B = "http://b.test/";

class World extends DispatchWorld {
  constructor(given: Parameters<typeof webhookDestination>[0] = {}, batch: Partial<Batch> = {}) {
    super(webhookDestination({ urls: [A], batch: { ...BATCH, ...batch }, ...given }));
  }
}

const range = (from: number, count: number, given: Parameters<typeof recordAt>[1] = {}) =>
  Array.from({ length: count }, (_, at) => recordAt(from + at, given));

function response(status: number, body?: unknown, retryAfter: string | null = null): SendResult {
  const read = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  return { kind: "response", status, retryAfter, durationMs: 1, body: read };
}

test("a full batch is sent at once, in order of offset, and the rest waits", () => {
  const world = new World().fetched(range(0, 7));
  expect(world.calls).toEqual([
    ["0", "1", "2"],
    ["3", "4", "5"],
  ]);
  expect(world.sent[0]?.headers["X-Switchyard-Batch"]).toBe("3");
  world.advance(249);
  expect(world.calls).toHaveLength(2);
  world.advance(1);
  expect(world.calls[2]).toEqual(["6"]);
});

test("a batch that is not full is sent `wait` after its first call arrived", () => {
  const world = new World().queue(range(0, 1)).advance(200).queue(range(1, 1)).advance(49);
  expect(world.calls).toEqual([]);
  world.advance(1);
  expect(world.calls).toEqual([["0", "1"]]);
  expect(world.sent[0]?.atMs).toBe(START_MS + 250);
});

test("a call that waited for a slot does not wait again", () => {
  const world = new World({ concurrency: 1 }).fetched(range(0, 3)).queue(range(3, 1));
  world.advance(300);
  expect(world.calls).toEqual([["0", "1", "2"]]);
  world.respond(response(200));
  expect(world.calls).toEqual([["0", "1", "2"], ["3"]]);
});

test("`concurrency` counts requests, and a batch that waits for a slot fills", () => {
  const world = new World({ concurrency: 1 }).fetched(range(0, 4)).advance(300);
  world.queue(range(4, 3));
  expect(world.calls).toEqual([["0", "1", "2"]]);
  world.respond(response(200));
  expect(world.calls[1]).toEqual(["3", "4", "5"]);
  world.respond(response(200));
  expect(world.calls).toHaveLength(2);
  world.advance(250);
  expect(world.calls[2]).toEqual(["6"]);
});

test("`requestsPerSecond` counts requests", () => {
  const world = new World({ requestsPerSecond: 2 }).fetched(range(0, 30));
  world.advance(990);
  // The calls of one second, and those that the second adds.
  expect(world.calls.length).toBeLessThanOrEqual(4);
  world.advance(10_000);
  expect(world.calls.flat()).toEqual(range(0, 30).map(({ offset }) => `${offset}`));
});

test("calls of several partitions share a batch, each in order of its offsets", () => {
  const world = new World({}, { calls: 4 });
  world.queue([
    recordAt(0, { partition: 0 }),
    recordAt(7, { partition: 1 }),
    recordAt(1, { partition: 0 }),
    recordAt(8, { partition: 1 }),
  ]);
  expect(world.calls).toEqual([["0", "7", "1", "8"]]);
  world.respond(response(200));
  expect(world.finished).toEqual(["0/0", "1/7", "0/1", "1/8"]);
});

test("calls with the same key are together in one batch, in order of offset, while it is open", () => {
  const world = new World({}, { calls: 5 });
  world.queue([...range(0, 2, { key: "u" }), recordAt(2, { key: "v" })]).advance(100);
  world.queue(range(3, 1, { key: "u" })).advance(150);
  expect(world.calls).toEqual([["0", "1", "2", "3"]]);
});

test("calls with the same key are never in two requests at the same time", () => {
  const world = new World({}, { calls: 2 });
  world.fetched([...range(0, 5, { key: "u" }), recordAt(5, { key: "v" })]);
  world.queue(range(6, 1, { key: "u" })).advance(300);
  expect(world.calls).toEqual([["0", "1"], ["5"]]);
  world.respond(response(200));
  expect(world.calls[2]).toEqual(["2", "3"]);
  world.respond(response(200)).respond(response(500));
  expect(world.calls[3]).toEqual(["4", "6"]);
  world.respond(response(200));
  expect(world.finished.toSorted()).toEqual(["0/0", "0/1", "0/2", "0/3", "0/4", "0/5", "0/6"]);
});

test("the same key on two partitions is two keys", () => {
  const world = new World({}, { calls: 2 });
  world.queue([
    ...range(0, 2, { key: "u", partition: 0 }),
    ...range(0, 2, { key: "u", partition: 1 }),
  ]);
  expect(world.calls).toHaveLength(2);
});

test("`bytes` ends a batch, and a larger call goes alone as a list of one", () => {
  const long = (characters: number) =>
    `{"type":"track","event":"${"x".repeat(characters)}","userId":"u"}`;
  const world = new World({}, { bytes: 1_024 });
  world.fetched([
    recordAt(0, { value: long(500) }),
    recordAt(1, { value: long(500) }),
    recordAt(2, { value: long(2_000) }),
  ]);
  expect(world.calls.map((calls) => calls.map(({ length }) => length))).toEqual([[500], [2_000]]);
  world.advance(250);
  expect(world.calls[2]?.map(({ length }) => length)).toEqual([500]);
  expect(world.sent[1]?.headers["X-Switchyard-Batch"]).toBe("1");
});

test("a delete notification goes alone, after the calls before it with its key", () => {
  const value = '{"type":"delete","userId":"u"}';
  const world = new World();
  world.queue([recordAt(0, { key: "u" }), recordAt(1), recordAt(2, { key: "u", value })]);
  // This ends the batch for which it has to wait.
  expect(world.calls).toEqual([["0", "1"]]);
  world.queue([recordAt(3, { key: "u" })]);
  world.respond(response(200));
  expect(world.calls).toEqual([["0", "1"], ["delete"]]);
  world.respond(response(200)).advance(250);
  expect(world.calls[2]).toEqual(["3"]);
});

test("a 2xx accepts all calls in one synchronous step", () => {
  const world = new World().fetched(range(0, 3));
  const [request] = world.open;
  request?.done(response(204));
  expect(world.finished).toEqual(["0/0", "0/1", "0/2"]);
  expect(world.attempted.map(({ decision }) => decision.name)).toEqual(Array(3).fill("accepted"));
  expect(world.written).toEqual([]);
});

test.each([
  ["408", response(408)],
  ["425", response(425)],
  ["429", response(429)],
  ["503", response(503)],
  ["no response", { kind: "no-response", cause: "timeout", durationMs: 1 } as const],
])(
  "%s: each call is scheduled for retry with its own record and attempt count",
  (_name, result) => {
    const world = new World();
    const retried = { attempt: 2, firstAttemptAtMs: START_MS - 60_000 };
    world.fetched([...range(0, 2), recordAt(2, { delivery: retried })]).respond(result);
    expect(world.written.map(({ kind }) => kind)).toEqual(["retry", "retry", "retry"]);
    const attempts = world.written.map(({ outgoing }) => {
      const read = readDelivery({ ...outgoing, headers: outgoing.headers ?? [] });
      return read.kind === "delivery" ? read.delivery.attempt : null;
    });
    expect(attempts).toEqual([1, 1, 3]);
    expect(world.attempted.map(({ delivery }) => delivery.attempt + 1)).toEqual([1, 1, 3]);
  },
);

test("the retry window begins when the request is sent", () => {
  const world = new World().queue(range(0, 1)).advance(250).respond(response(500));
  expect(world.attempted[0]?.delivery.firstAttemptAtMs).toBe(START_MS + 250);
});

test("retries that are due at the same time are batched together, and not with the queue", () => {
  const world = new World({ attemptHeader: true });
  const given = (attempt: number) => ({
    delivery: { attempt, firstAttemptAtMs: START_MS - 60_000 },
  });
  world.fetched([recordAt(0, given(1)), recordAt(1, given(3))], "retry");
  world.queue(range(5, 1));
  expect(world.calls).toEqual([]);
  world.advance(250);
  expect(world.calls.toSorted()).toEqual([["0", "1"], ["5"]]);
  const batch = world.sent.find(({ calls }) => calls.length === 2);
  expect(batch?.headers["X-Switchyard-Attempt"]).toBe("2,4");
});

test("413: a poison call costs only itself, within one slot and one attempt", () => {
  const world = new World({ concurrency: 1 }, { calls: 8 });
  world.fetched(range(0, 8)).queue(range(8, 8));
  const isPoisoned = () => world.open[0]?.calls.includes("5") === true;
  while (world.open[0]?.calls.some((event) => Number(event) < 8) === true) {
    expect(world.open).toHaveLength(1);
    world.respond(response(isPoisoned() ? 413 : 200));
  }
  expect(world.calls.slice(0, 8)).toEqual([
    ["0", "1", "2", "3", "4", "5", "6", "7"],
    ["0", "1", "2", "3"],
    ["4", "5", "6", "7"],
    ["4", "5"],
    ["4"],
    ["5"],
    ["6", "7"],
    ["8", "9", "10", "11", "12", "13", "14", "15"],
  ]);
  expect(world.finalStates).toEqual({ "0/5": "dead-letter" });
  expect(world.finished.toSorted()).toEqual(range(0, 8).map(({ offset }) => `0/${offset}`));
  // There is one record for each call, according to its last request.
  expect(world.attempted.map(({ delivery }) => delivery.messageId)).toEqual(
    range(0, 8).map(({ offset }) => `0/${offset}`),
  );
  expect(world.attempted.map(({ batch }) => batch?.calls)).toEqual([4, 4, 4, 4, 1, 1, 2, 2]);
  expect(new Set(world.attempted.slice(0, 4).map(({ batch }) => batch?.id)).size).toBe(1);
  expect(world.results).toHaveLength(7);
});

test("the calls of a half that fails are retried, and the other half is sent", () => {
  const world = new World({}, { calls: 4 }).fetched(range(0, 4));
  world.respond(response(400)).respond(response(503)).respond(response(200));
  expect(world.calls).toEqual([
    ["0", "1", "2", "3"],
    ["0", "1"],
    ["2", "3"],
  ]);
  expect(world.finalStates).toEqual({ "0/0": "retry", "0/1": "retry" });
  expect(world.attempted.map(({ delivery }) => delivery.attempt)).toEqual([0, 0, 0, 0]);
});

test("a split counts as requests under `requestsPerSecond`", () => {
  const world = new World({ requestsPerSecond: 1, concurrency: 1 }, { calls: 4 });
  world.fetched(range(0, 4));
  for (let count = 0; count < 3; count += 1) {
    if (world.open.length === 0) world.advance(1_500);
    world.respond(response(world.open[0]?.calls.length === 4 ? 400 : 200));
  }
  const [first, , last] = world.sent.map(({ atMs }) => atMs);
  expect((last ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect(world.finished).toHaveLength(4);
});

test("a higher `requestsPerSecond` applies to the next half of a split", () => {
  const world = new World({ requestsPerSecond: 0.01 }, { calls: 4 }).fetched(range(0, 4));
  world.respond(response(400));
  world.advance(1_000).update({ requestsPerSecond: 10 });
  expect(world.calls).toEqual([
    ["0", "1", "2", "3"],
    ["0", "1"],
  ]);
});

test("a split in progress keeps its form when `batch` is removed", () => {
  const world = new World({}, { calls: 2 }).fetched(range(0, 2));
  world.update({ batch: null });
  world.respond(response(413));
  expect(world.calls).toEqual([["0", "1"], ["0"]]);
  expect(world.sent[1]?.headers["X-Switchyard-Batch"]).toBe("1");
  world.respond(response(200)).respond(response(200));
  expect(world.finished).toEqual(["0/0", "0/1"]);
});

test.each([301, 302, 307])("%i rejects all calls without a split", (status) => {
  const world = new World().fetched(range(0, 3)).respond(response(status));
  expect(world.calls).toHaveLength(1);
  expect(world.written.map(({ kind }) => kind)).toEqual(Array(3).fill("dead-letter"));
});

test("with `responses: each` each call has its own decision", () => {
  const world = new World({}, { responses: "each", calls: 4 }).fetched(range(0, 4));
  const body = [
    { status: 200 },
    { status: 400, error: "no such user" },
    { status: 503 },
    { status: 500 },
  ];
  world.respond(response(207, body, "60"));
  expect(world.finalStates).toEqual({ "0/1": "dead-letter", "0/2": "retry", "0/3": "retry" });
  expect(world.finished.toSorted()).toEqual(["0/0", "0/1", "0/2", "0/3"]);
  const notBefore = world.written.flatMap(({ kind, outgoing }) => {
    const read = readDelivery({ ...outgoing, headers: outgoing.headers ?? [] });
    return kind === "retry" && read.kind === "delivery" ? [read.delivery.notBeforeMs] : [];
  });
  expect(notBefore).toEqual([START_MS + 60_000, null]);
  expect(world.attempted.map(({ results }) => results[0]?.result)).toMatchObject([
    { status: 200 },
    { status: 400 },
    { status: 503 },
    { status: 500 },
  ]);
  // The endpoint itself responded, so it is available.
  expect(world.work.hold()).toBeNull();
  expect(world.unreadable).toBe(0);
});

test("a response that judges no calls counts for all, and as unreadable", () => {
  const world = new World({}, { responses: "each" }).fetched(range(0, 3));
  world.respond(response(200, { ok: true }));
  expect(world.finished).toHaveLength(3);
  expect(world.unreadable).toBe(1);
});

test("`any`: what another endpoint accepts is not sent again, and the rest of a split goes where it was split", () => {
  const world = new World({ urls: [A, B] }, { responses: "each", calls: 4 });
  world.fetched(range(0, 4));
  world.respond(response(413));
  expect(world.calls).toHaveLength(2);
  world.respond(
    response(200, [{ status: 200 }, { status: 500 }, { status: 200 }, { status: 400 }]),
  );
  expect(world.finished).toEqual(["0/0", "0/2"]);
  expect(world.sent.slice(2).map(({ url, calls }) => [url, calls])).toEqual([[A, ["1"]]]);
  world.respond(response(400));
  // Call 3 was rejected by both, call 1 awaits a retry at the other endpoint.
  expect(world.sent.slice(3).map(({ url, calls }) => [url, calls])).toEqual([[A, ["3"]]]);
  world.respond(response(400));
  expect(world.finalStates).toEqual({ "0/1": "retry", "0/3": "dead-letter" });
});

test("`every`: each endpoint decides for itself, and all offsets are finished together", () => {
  const world = new World({ urls: [A, B], deliver: "every" }, { calls: 2 }).fetched(range(0, 2));
  world.respond(response(200)).respond(response(422));
  expect(world.sent.slice(2).map(({ url, calls }) => [url, calls])).toEqual([[B, ["0"]]]);
  world.respond(response(200));
  expect(world.finished).toEqual([]);
  world.respond(response(422));
  expect(world.finished).toEqual(["0/0", "0/1"]);
  expect(world.finalStates).toEqual({ "0/1": "dead-letter" });
});

test("`every`: a call that one endpoint fails is retried there alone", () => {
  const world = new World({ urls: [A, B], deliver: "every" }, { calls: 2 }).fetched(range(0, 2));
  world.respond(response(200)).respond(response(500));
  const [, endpoint = null] = refsOf(world.destination);
  const retried = { attempt: 1, firstAttemptAtMs: START_MS, endpoint };
  world.fetched(range(10, 2, { delivery: retried }), "retry");
  expect(world.sent.slice(2).map(({ url, calls }) => [url, calls])).toEqual([[B, ["10", "11"]]]);
});

test("a retry whose window ends while it waits for a batch is sent at the end of it", () => {
  const world = new World({}, { waitMs: 10_000 });
  const firstAttemptAtMs = START_MS - 14_400_000 + 3_000;
  world.fetched([recordAt(0, { delivery: { attempt: 1, firstAttemptAtMs } })], "retry");
  world.advance(2_999);
  expect(world.calls).toEqual([]);
  world.advance(1);
  expect(world.calls).toEqual([["0"]]);
});

test("retries for different endpoints do not share a batch", () => {
  const world = new World({ urls: [A, B], deliver: "every" });
  const [a, b] = refsOf(world.destination);
  const of = (endpoint = a) => ({
    delivery: { attempt: 1, firstAttemptAtMs: START_MS, endpoint: endpoint ?? null },
  });
  world.fetched([recordAt(0, of(a)), recordAt(1, of(b)), recordAt(2, of(a))], "retry");
  world.advance(250);
  expect(world.sent.map(({ url, calls }) => [url, calls])).toEqual([
    [A, ["0", "2"]],
    [B, ["1"]],
  ]);
});

test("circuit breakers count requests: three failed batches do not open a circuit", () => {
  const world = new World({ concurrency: 1 }, { calls: 10 });
  for (let from = 0; from < 190; from += 10) {
    world.fetched(range(from, 10)).respond(response(500)).advance(100);
  }
  expect(world.work.hold()).toBeNull();
  world.fetched(range(190, 10)).respond(response(500));
  expect(world.work.hold()?.reason).toBe("circuit-open");
});

test("what was put together while the endpoint became unavailable waits for it", () => {
  const world = new World().fetched(range(0, 5));
  world.respond(response(429, undefined, "30"));
  expect(world.work.hold()?.reason).toBe("retry-after");
  world.advance(29_000);
  expect(world.calls).toHaveLength(1);
  world.advance(1_000);
  expect(world.calls[1]).toEqual(["3", "4"]);
});

test("a pause keeps what was put together, and the same calls are sent after it", () => {
  const world = new World({}, { calls: 5 });
  world.queue([...range(0, 2, { key: "u" }), recordAt(2)]);
  world.update({ paused: true });
  world.advance(10_000);
  expect(world.calls).toEqual([]);
  world.update({ paused: false });
  expect(world.calls).toEqual([["0", "1", "2"]]);
});

test("without `batch` any more, what was put together is sent alone", () => {
  const world = new World().queue([...range(0, 1, { key: "u" }), recordAt(1)]);
  world.update({ batch: null });
  expect(world.calls).toEqual([["0"], ["1"]]);
  expect(world.sent[0]?.headers["X-Switchyard-Batch"]).toBeUndefined();
});

test("a cancel dead-letters what was put together", () => {
  const world = new World({}, { calls: 5 }).queue([...range(0, 2, { key: "u" }), recordAt(2)]);
  const release: EarlyRelease = {
    kind: "cancel",
    destination: world.destination.id,
    id: "c-1",
    atMs: START_MS + 1,
    by: "command",
    receivedBeforeMs: null,
  };
  world.work.update(world.destination, { earlyReleases: [release], gone: new Map() });
  expect(world.finalStates).toEqual({
    "0/0": "dead-letter",
    "0/1": "dead-letter",
    "0/2": "dead-letter",
  });
  expect(world.finished).toEqual(["0/0", "0/2", "0/1"]);
  world.advance(10_000);
  expect(world.calls).toEqual([]);
});

test("a partition that is drained takes its calls out of an open batch, and lets one in flight end", async () => {
  const world = new World({}, { calls: 3 });
  world.queue([recordAt(0, { partition: 0 }), recordAt(0, { partition: 1 })]);
  world.queue([recordAt(1, { partition: 0 })]);
  expect(world.calls).toHaveLength(1);
  world.queue([recordAt(2, { partition: 0 }), recordAt(1, { partition: 1 })]);
  const drained = world.handlers.get("queue/1")?.drain();
  world.advance(250);
  expect(world.calls[1]).toEqual(["2"]);
  world.respond(response(200));
  await drained;
  expect(world.finished.slice(0, 3)).toEqual(["0/0", "1/0", "0/1"]);
});

test.each([
  ["single deliveries", null, 256],
  ["small batches", 64, 256],
  ["four batches", 100, 400],
  ["large batches, as far as the metadata of commits has room", 1_000, 2_048],
])("records in flight per partition: %s", (_name, calls, records) => {
  const limits = calls === null ? null : { calls, bytes: 1_024, waitMs: 250 };
  expect(partitionRecordsMax(limits)).toBe(records);
});

test("with `responses: each`, a 410 for one call rejects that call, and the endpoint is not gone", () => {
  const world = new World({}, { responses: "each" }).fetched(range(0, 6));
  world.respond(response(207, [{ status: 200 }, { status: 410 }, { status: 200 }]));
  expect(world.finalStates).toEqual({ "0/1": "dead-letter" });
  expect(world.work.endpoints()).toMatchObject([{ unavailable: null }]);
  world.respond(response(410));
  expect(world.finalStates).toEqual({
    ...Object.fromEntries(["0/1", "0/3", "0/4", "0/5"].map((id) => [id, "dead-letter"])),
  });
  expect(world.work.endpoints()).toMatchObject([{ unavailable: { reason: "gone" } }]);
  expect(world.calls).toHaveLength(2);
});
