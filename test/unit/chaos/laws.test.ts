// The laws of the chaos run: each must be able to fail, because otherwise a run would prove nothing.

import { describe, expect, test } from "vitest";

import type { EndpointKey } from "../../../src/domain/ids.ts";
import { closeAll, untilCalm } from "../../chaos/faults.ts";
import type { ChaosEntry, ChaosRequest, Written } from "../../chaos/journal.ts";
import { isExcused, outOfOrder, violations } from "../../chaos/laws.ts";
import { tooMany, tooOften } from "../../chaos/repetitions.ts";
import { isNotedLate } from "../../chaos/stalls.ts";
import { longestWait } from "../../chaos/starvation.ts";
import { type Exposure, STARVED } from "../../chaos/violation.ts";
import { begunWithoutProxy, type Recipient, windowBegan } from "../../support/worlds/ledger.ts";

const T = 1_770_000_000_000;
const KEY = "a" as EndpointKey;
const OTHER = "b" as EndpointKey;
const POLICY = { retryDelaysMs: [1_000, 2_000], retryWindowMs: 10_000 };
const ONE: Recipient = { id: "hook", deliver: "any", endpoints: [KEY] };
const EVERY: Recipient = { id: "hook", deliver: "every", endpoints: [KEY, OTHER] };

function request(atMs: number, more: Partial<ChaosRequest> = {}): ChaosRequest {
  const made = { endpoint: KEY, path: "/hook", attempt: 1, status: 200, retryAfterMs: 0 };
  return { ...made, atMs: T + atMs, endAtMs: T + atMs + 10, ...more };
}

function written(where: Written["where"], atMs: number, more: Partial<Written> = {}): Written {
  const made = {
    ...{ place: "topic/0/0", attempt: 0, retryCount: 0, rerouted: 0 },
    ...{ endpoint: null, dueAtMs: null },
  };
  return { ...made, where, atMs: T + atMs, reason: null, ...more };
}

function entry(requests: ChaosRequest[], records: Written[] = []): ChaosEntry {
  const deadLetters = records
    .filter(({ where }) => where === "dead-letter")
    .map(({ endpoint, reason, atMs }) => ({
      endpoint,
      reason: reason as "expired" | "rejected",
      atMs,
    }));
  const beganAtMs = records.flatMap(({ where, retryCount, atMs }) =>
    where === "delay" ? windowBegan({ "switchyard-retry-count": `${retryCount}` }, atMs) : [],
  );
  const all = [written("delivery", -5), ...records];
  const writtenAtMs = all.map(({ atMs }) => atMs);
  const id = { messageId: "m", destination: "hook" };
  return { ...id, requests, deadLetters, writtenAtMs, beganAtMs, written: all };
}

function broken(
  made: ChaosEntry,
  exposures: readonly Exposure[] = [],
  recipient: Recipient = ONE,
): string[] {
  return violations(made, recipient, POLICY, exposures).map(({ law }) => law);
}

const FAILED = { status: 503 } as const;
const REJECTED = written("dead-letter", 20, { reason: "rejected", attempt: 1 });
const EXPIRED = written("dead-letter", 12_000, { reason: "expired", attempt: 1 });
const KILL: Exposure = { kind: "kill", fromMs: T - 1_000, toMs: T + 500 };

test("what Retry-After asked of one copy of a delivery does not apply to the other", () => {
  const made = entry([
    request(0, FAILED),
    request(1_100, { attempt: 2 }),
    request(1_200, { ...FAILED, retryAfterMs: 5_000 }),
    request(2_400, { attempt: 2 }),
  ]);
  expect(broken(made, [KILL])).toEqual([]);
});

describe("a delivery that went as it should breaks no law", () => {
  test.each<[string, ChaosEntry, Recipient]>([
    ["accepted at once", entry([request(0)]), ONE],
    ["accepted after its delay", entry([request(0, FAILED), request(1_010, { attempt: 2 })]), ONE],
    ["rejected", entry([request(0, { status: 400 })], [REJECTED]), ONE],
    [
      "each endpoint for itself",
      entry([
        request(0),
        request(0, { endpoint: OTHER, path: "/other", ...FAILED }),
        request(1_010, { endpoint: OTHER, path: "/other", attempt: 2 }),
      ]),
      EVERY,
    ],
  ])("%s", (_name, made, recipient) => {
    expect(broken(made, [], recipient)).toEqual([]);
  });
});

describe("what breaks a law is found", () => {
  test.each<[string, string, ChaosEntry]>([
    ["lost", "never requested", entry([])],
    ["lost", "failed and forgotten", entry([request(0, FAILED)])],
    ["early", "before its delay", entry([request(0, FAILED), request(900, { attempt: 2 })])],
    [
      "early",
      "back before it was due",
      entry([request(0)], [written("delivery", 900, { retryCount: 1, dueAtMs: T + 1_000 })]),
    ],
    [
      "early",
      "before Retry-After",
      entry([request(0, { ...FAILED, retryAfterMs: 2_000 }), request(1_500, { attempt: 2 })]),
    ],
    ["late", "after the window", entry([request(0, FAILED), request(13_000, { attempt: 2 })])],
    [
      "dead-lettered",
      "expired early",
      entry(
        [request(0, FAILED)],
        [written("dead-letter", 3_000, { reason: "expired", attempt: 1 })],
      ),
    ],
    ["dead-lettered", "called rejected", entry([request(0, FAILED)], [REJECTED])],
    ["repeated", "the same attempt", entry([request(0), request(5_000)])],
    [
      "repeated",
      "after an acceptance",
      entry([request(0, { status: 204 }), request(1_500, { attempt: 2 })]),
    ],
    [
      "repeated",
      "a record written twice",
      entry([request(0)], [written("delivery", 3_000), written("delivery", 4_000)]),
    ],
    [
      "repeated",
      "attempted and then dead-lettered as if it had not been",
      entry([request(0, FAILED), request(1_010, { attempt: 2 })], [EXPIRED]),
    ],
    [
      "repeated",
      "scheduled for retry and then dead-lettered as if it had not been",
      entry([request(0, FAILED)], [written("delay", 20, { retryCount: 1, attempt: 1 }), EXPIRED]),
    ],
    [
      "repeated",
      "dead-lettered and then attempted",
      entry([request(0, { status: 400 }), request(1_010, { status: 400, attempt: 2 })], [REJECTED]),
    ],
  ])("%s: %s", (law, _name, made) => {
    expect(broken(made)).toEqual([law]);
  });
});

test("going around a topic begins no window: what was never attempted has none", () => {
  const around = written("delay", 20, { dueAtMs: T + 1_020 });
  const back = written("delivery", 1_030, { dueAtMs: T + 1_020 });
  const made = entry([request(13_000)], [around, back]);
  // It is written again to its own topic, which the outage of this topic explains.
  expect(broken(made, [{ kind: "broker", fromMs: T - 10, toMs: T + 20 }])).toEqual([]);
});

test("a fault may repeat a delay record four times, and no more", () => {
  const scheduled = (atMs: number, rerouted: number) =>
    written("delay", atMs, { retryCount: 1, attempt: 1, rerouted });
  const four = [20, 30, 40, 50].map((atMs) => scheduled(atMs, 0));
  const made = (...more: Written[]) =>
    entry([request(0, FAILED), request(2_000, { attempt: 2 })], [...four, ...more]);
  expect(broken(made(scheduled(60, 1)), [KILL])).toEqual([]);
  expect(broken(made(scheduled(60, 0)), [KILL])).toEqual(["repeated"]);
});

test("a first attempt is late when the window has ended that began with a scheduled retry", () => {
  const scheduled = written("delay", 20, { retryCount: 1, endpoint: KEY });
  expect(broken(entry([request(12_000)], [scheduled]))).toEqual([]);
  expect(broken(entry([request(12_100)], [scheduled]))).toEqual(["late"]);
  // If it is done twice, it may belong to the other half, which was never scheduled for retry.
  expect(broken(entry([request(12_100)], [scheduled, scheduled]), [KILL])).toEqual([]);
});

test("a first attempt that a fault has repeated at another endpoint has a window of its own", () => {
  const again = entry([request(0, { path: "/other" }), request(20_000)]);
  expect(broken(again, [KILL])).toEqual([]);
});

test("with every, one endpoint's acceptance is not the other's", () => {
  expect(broken(entry([request(0)]), [], EVERY)).toEqual(["lost"]);
});

test("a fault explains the repetition of what was done shortly before it, and what follows", () => {
  const repeated = entry([request(0), request(5_000), request(60_000)]);
  expect(broken(repeated, [KILL])).toEqual([]);
  const later = { ...KILL, fromMs: T + 100, toMs: T + 20_000 };
  expect(broken(entry([request(0), request(5_000)]), [later])).toEqual(["repeated"]);
});

test("a fault explains what two halves of a delivery do much later, but not what began after it", () => {
  const begun = written("delay", 20, { retryCount: 1 });
  const deadLetter = written("dead-letter", 9_000, {
    reason: "expired",
    retryCount: 1,
    attempt: 0,
  });
  const split = entry([request(8_000)], [begun, deadLetter]);
  expect(broken(split, [KILL])).not.toContain("repeated");
  const before = { ...KILL, fromMs: T - 9_000, toMs: T - 6_000 };
  expect(broken(split, [before])).toContain("repeated");
});

test("of repetitions in the same millisecond the one that goes back furthest is the cause", () => {
  const deadLetter = { reason: "expired", attempt: 1 };
  const twice = entry(
    [request(0, FAILED)],
    [
      written("delay", 20, { retryCount: 1, attempt: 1 }),
      written("dead-letter", 12_000, deadLetter),
      written("dead-letter", 12_000, { ...deadLetter, retryCount: 1 }),
    ],
  );
  expect(broken(twice, [KILL])).toEqual([]);
});

describe("how much a fault may repeat", () => {
  const attempts = (times: number) =>
    entry(Array.from({ length: times }, (_, index) => request(1_000 * index)));

  test("a step comes again as often as two stages may do it again, for each fault", () => {
    expect(broken(attempts(4), [KILL])).toEqual([]);
    expect(broken(attempts(5), [KILL])).toEqual(["repeated"]);
    expect(broken(attempts(5), [KILL, { ...KILL, toMs: T + 1_500 }])).toEqual([]);
    // A fault that starts after all of it, or that ended before, explains none of it.
    const before = { ...KILL, fromMs: T - 9_000, toMs: T - 6_000 };
    const after = { ...KILL, fromMs: T + 60_000, toMs: T + 61_000 };
    expect(broken(attempts(5), [before, KILL, after])).toEqual(["repeated"]);
  });

  /** Returns records in which the first attempt is repeated; all of them are this much later. */
  const repeated = (
    place: string,
    laterMs = 0,
    records: Written[] = [],
  ): [ChaosEntry, Recipient] => {
    const made = entry([request(laterMs), request(laterMs + 5_000)], records);
    const moved = made.written.map((each) => ({ ...each, place, atMs: each.atMs + laterMs }));
    return [{ ...made, written: moved }, ONE];
  };
  const inPartition = (partition: number, count: number, laterMs = 0) =>
    Array.from({ length: count }, (_, offset) => repeated(`d/${partition}/${offset}`, laterMs));

  test("a program has at most 256 records of a partition in flight", () => {
    expect(tooMany([...inPartition(0, 256), ...inPartition(1, 256)], [KILL])).toEqual([]);
    const [violation, ...more] = tooMany([...inPartition(0, 257), ...inPartition(1, 9)], [KILL]);
    expect(violation).toMatchObject({ law: "repeated", says: expect.stringContaining("257 ") });
    expect(more).toEqual([]);
  });

  test("each fault may take so many, and of two that may have been it neither is accused", () => {
    const freeze = { kind: "freeze", fromMs: T + 80_000, toMs: T + 90_000 };
    const all = [...inPartition(0, 256), ...inPartition(0, 256, 85_000)];
    expect(tooMany(all, [KILL, freeze])).toEqual([]);
    expect(tooMany(inPartition(0, 300), [KILL, { ...KILL, kind: "cut" }])).toEqual([]);
  });

  test("what route has written twice is attempted twice, and does not count", () => {
    const twice = Array.from({ length: 300 }, (_, offset) =>
      repeated(`d/0/${offset}`, 0, [written("delivery", 100)]),
    );
    expect(tooMany(twice, [KILL])).toEqual([]);
  });
});

test("calls of one user are compared in the order in which they were sent", () => {
  const first = entry([request(100)]);
  const second = entry([request(105)]);
  const third = entry([request(200)]);
  const found = outOfOrder([
    ["u", first],
    ["v", second],
    ["u", third],
  ]);
  expect(found).toEqual([]);
  const swapped = outOfOrder([
    ["u", first],
    ["u", second],
  ]);
  expect(swapped.map(({ violation }) => violation.law)).toEqual(["order"]);
});

test("a call that was posted twice at once is over when one of its requests is", () => {
  const twice = entry([request(100, { endAtMs: T + 200 }), request(102)]);
  const follows = (atMs: number) =>
    outOfOrder([
      ["u", twice],
      ["u", entry([request(atMs)])],
    ]);
  expect(follows(112)).toEqual([]);
  expect(follows(111)).toHaveLength(1);
});

test("a copy that went around its topic is overtaken", () => {
  const late = (records: Written[]) =>
    outOfOrder([
      ["u", entry([request(500)], records)],
      ["u", entry([request(100)])],
    ]);
  expect(late([written("delivery", 5)])).toHaveLength(1);
  expect(late([written("delay", 5)])).toEqual([]);
});

test("scheduled for retry: nothing that was never attempted, unless it is the share of one endpoint", () => {
  const delay = (more: Partial<Written>) =>
    written("delay", 5, { retryCount: 1, dueAtMs: T, ...more });
  expect(broken(entry([request(0)], [delay({})]))).toContain("unattempted");
  expect(broken(entry([request(0)], [delay({ attempt: 1 })]))).not.toContain("unattempted");
  expect(broken(entry([request(0)], [delay({ endpoint: KEY })]))).not.toContain("unattempted");
  expect(broken(entry([request(0)], [delay({ retryCount: 0 })]))).not.toContain("unattempted");
});

describe("what a topic that is deleted excuses", () => {
  const losses = [{ destination: "hook", toMs: T + 100 }];
  const queued = (atMs: number) =>
    written("delivery", atMs, { place: "chaos.deliveries.hook/0/1" });
  const gone = (records: Written[]) => isExcused({ ...entry([]), written: records }, T, losses);

  test("is a delivery that lay there, or was not seen anywhere yet", () => {
    expect(gone([queued(50)])).toBe(true);
    expect(gone([])).toBe(true);
  });

  test("is none that came there later, or waited elsewhere", () => {
    expect(gone([queued(101)])).toBe(false);
    expect(gone([queued(50), written("delay", 60, { place: "chaos.delays.1s/0/1" })])).toBe(false);
  });
});

test("a delivery that is rerouted again and again repeats nothing", () => {
  const exposures = [{ kind: "leaderless", fromMs: T - 10, toMs: T + 10_000 }];
  const sixTimes = (reroutes: (index: number) => number) =>
    entry(
      [],
      Array.from({ length: 6 }, (_each, index) =>
        written("delay", index * 100, { retryCount: 3, rerouted: reroutes(index) }),
      ),
    );
  expect(broken(sixTimes((index) => index))).not.toContain("repeated");
  expect(broken(sixTimes(() => 1))).toContain("repeated");
  expect(
    tooOften(
      sixTimes((index) => index),
      exposures,
    ),
  ).toEqual([]);
  expect(
    tooOften(
      sixTimes(() => 1),
      exposures,
    ),
  ).toHaveLength(1);
});

test("a request is noted late that was in progress while the run stood still", () => {
  const stalls = [{ fromMs: T, toMs: T + 1_500, ms: 500 }];
  expect(isNotedLate([request(500)], stalls)).toBe(true);
  expect(isNotedLate([request(-5)], stalls)).toBe(true);
  expect(isNotedLate([request(-100)], stalls)).toBe(false);
  expect(isNotedLate([request(2_000)], stalls)).toBe(false);
  expect(isNotedLate([request(500)], stalls, 1_000)).toBe(false);
});

describe("a program is starved while the machine keeps it from running", () => {
  const before = new Map([["7", { ranMs: 1_000, waitedMs: 2_000 }]]);
  const after = (ranMs: number, waitedMs: number) =>
    longestWait(
      before,
      new Map([["7", { ranMs: 1_000 + ranMs, waitedMs: 2_000 + waitedMs }]]),
      3_000,
    );
  test.each([
    ["one that waits most of the time", 100, 2_500, 2_500],
    ["one that waits for half of it", 700, 1_500, 1_500],
    ["one whose wait began before", 0, 9_000, 9_000],
    ["one that shares a processor with one other", 1_500, 1_500, null],
    ["one with nothing to do", 1, 20, null],
  ])("%s", (_name, ranMs, waitedMs, expected) => {
    expect(after(ranMs, waitedMs)).toBe(expected);
  });

  test("one that has begun since", () => {
    const began = new Map([["8", { ranMs: 10, waitedMs: 2_000 }]]);
    expect(longestWait(before, began, 3_000)).toBe(2_000);
  });
});

test("no graceful fault waits for a machine that is busy, and each for one that has begun", async () => {
  const atMs = Date.now();
  const far = atMs + 1e9;
  await untilCalm([{ kind: STARVED, fromMs: atMs, toMs: far }]);
  const open: Exposure = { kind: "kill", fromMs: atMs, toMs: Number.POSITIVE_INFINITY };
  const world = { exposures: [open] };
  closeAll(world);
  expect(world.exposures[0]?.toMs).toBeLessThan(far);
});

test("a retry window that starts while the proxy is down breaks a law, and one before or after it does not", () => {
  const outages = [{ kind: "proxy", fromMs: T + 100, toMs: T + 200 }];
  const begun = (atMs: number) =>
    begunWithoutProxy(entry([], [written("delay", atMs, { retryCount: 1 })]), outages).length;
  expect([99, 100, 199, 200].map(begun)).toEqual([0, 1, 1, 0]);
});
