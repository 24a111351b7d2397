// When a token is requested, and what is reported for a destination without a token.

import { expect, test } from "vitest";
import { TokenPace, type TokenResult } from "../../../../../src/base/runtime/oauth-token.ts";
import {
  TokenKeeper,
  waitBeforeRequest,
} from "../../../../../src/router/destinations/webhook/token-keeper.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";

const NONE: TokenResult = { kind: "none", why: "status 401" };
const REQUEST_MS = 10;

/** Creates a token endpoint with these results, each after 10 ms. */
function keeperOf(...results: (TokenResult | string)[]) {
  const clock = new ManualClock();
  const startMs = clock.nowMs();
  const requestedAtMs: number[] = [];
  let changes = 0;
  const keeper = new TokenKeeper({
    clock,
    pace: new TokenPace(),
    failureText: (why) => `No token: ${why}`,
    request: () => {
      requestedAtMs.push(clock.nowMs() - startMs);
      const result = results.shift() ?? NONE;
      const token = typeof result === "string" ? tokenOf(result, 100_000) : result;
      return new Promise((resolve) => clock.schedule(REQUEST_MS, () => resolve(token)));
    },
  });
  keeper.onChange(() => {
    changes += 1;
  });
  return { clock, keeper, requestedAtMs, changes: () => changes };
}

function tokenOf(token: string, lifeMs: number): TokenResult {
  return { kind: "token", token, lifeMs };
}

test("it waits 1 s, 2 s, 4 s, then 5 s between requests", () => {
  expect([1, 2, 3, 4, 5, 1_000].map(waitBeforeRequest)).toEqual([
    1_000, 2_000, 4_000, 5_000, 5_000, 5_000,
  ]);
});

test("without a token it requests one until it gets it, one request at a time", async () => {
  const { clock, keeper, requestedAtMs, changes } = keeperOf(NONE, NONE, "t1");
  const sinceMs = clock.nowMs();
  for (let taken = 0; taken < 3; taken += 1) expect(keeper.take()).toBe(null);
  expect(keeper.hold()).toEqual({ reason: "token", sinceMs, untilMs: sinceMs, error: null });
  await clock.advance(REQUEST_MS);
  expect(keeper.take()).toBe(null);
  const untilMs = sinceMs + REQUEST_MS + 1_000;
  expect(keeper.hold()).toEqual({
    reason: "token",
    sinceMs,
    untilMs,
    error: "No token: status 401",
  });
  await clock.advance(10_000);
  expect(keeper.take()).toBe("t1");
  expect(keeper.hold()).toBe(null);
  expect(requestedAtMs).toEqual([0, 1_010, 3_020]);
  expect(changes()).toBe(3);
});

test("it is kept until 4/5 of its life, and used until the next one has come", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf("t1", "t2");
  keeper.take();
  await clock.advance(REQUEST_MS);
  await clock.advance(79_999);
  expect(keeper.take()).toBe("t1");
  expect(requestedAtMs).toEqual([0]);
  await clock.advance(1);
  expect(keeper.take()).toBe("t1");
  expect(requestedAtMs).toEqual([0, 80_010]);
  expect(keeper.hold()).toBe(null);
  await clock.advance(REQUEST_MS);
  expect(keeper.take()).toBe("t2");
});

test("if none follows, the destination is on hold when its life is over", async () => {
  const { clock, keeper } = keeperOf("t1");
  keeper.take();
  await clock.advance(80_000 + REQUEST_MS);
  expect(keeper.take()).toBe("t1");
  await clock.advance(19_999);
  expect([keeper.take(), keeper.hold()]).toEqual(["t1", null]);
  await clock.advance(1);
  expect(keeper.take()).toBe(null);
  expect(keeper.hold()).toMatchObject({ sinceMs: clock.nowMs(), error: "No token: status 401" });
});

test("a destination without deliveries requests none, and is not on hold", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf("t1", "t2");
  keeper.take();
  await clock.advance(3_600_000);
  expect(keeper.hold()).toBe(null);
  expect(requestedAtMs).toEqual([0]);
  expect(keeper.take()).toBe(null);
  await clock.advance(REQUEST_MS);
  expect(keeper.take()).toBe("t2");
});

test("a rejected token is replaced by one request, whoever noticed it, and is used until then", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf("t1", "t2");
  keeper.take();
  await clock.advance(REQUEST_MS);
  const replaced = Promise.all(["t1", "t1", "t1"].map((token) => keeper.obtain(token)));
  expect([keeper.take(), keeper.hold()]).toEqual(["t1", null]);
  await clock.advance(REQUEST_MS);
  expect(await replaced).toEqual(["t2", "t2", "t2"]);
  expect(await keeper.obtain("t1")).toBe("t2");
  expect(requestedAtMs).toHaveLength(2);
});

test("between two failed requests a rejected token is not waited for, and others still use it", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf("t1");
  keeper.take();
  await clock.advance(REQUEST_MS);
  const first = keeper.obtain("t1");
  await clock.advance(REQUEST_MS);
  expect(await first).toBe(null);
  expect(await keeper.obtain("t1")).toBe(null);
  expect(requestedAtMs).toHaveLength(2);
  await clock.advance(60_000);
  expect([keeper.take(), keeper.hold()]).toEqual(["t1", null]);
  await clock.advance(40_000);
  expect(keeper.take()).toBe(null);
  expect(keeper.hold()).toMatchObject({ error: "No token: status 401" });
});

test("a token endpoint that issues the rejected token again has not issued another one", async () => {
  const { clock, keeper } = keeperOf("t1", "t1");
  keeper.take();
  await clock.advance(REQUEST_MS);
  const replaced = keeper.obtain("t1");
  await clock.advance(REQUEST_MS);
  expect(await replaced).toBe(null);
  expect(keeper.take()).toBe("t1");
});

test("new tokens that are rejected are replaced after 10 s, 20 s, 40 s, 80 s, then every 2 minutes", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf(
    ...Array.from({ length: 20 }, (_, n) => tokenOf(`t${n}`, 10_000_000)),
  );
  const rejectFor = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      void keeper.obtain(keeper.take());
      await clock.advance(1_000);
    }
  };
  keeper.take();
  await clock.advance(1_000);
  await rejectFor(600);
  expect(requestedAtMs.map((ms) => Math.round(ms / 1_000))).toEqual([
    0, 1, 12, 33, 74, 155, 276, 397, 518,
  ]);
  // Ten minutes without a replacement end the waits.
  await clock.advance(600_000);
  const count = requestedAtMs.length;
  await rejectFor(15);
  expect(requestedAtMs.length - count).toBe(2);
});

test("Retry-After holds for every token of the client, and a token stays in use meanwhile", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf("t1", {
    kind: "none",
    why: "status 429",
    waitMs: 30_000,
  });
  keeper.take();
  await clock.advance(REQUEST_MS);
  expect(await Promise.race([keeper.obtain("t1"), clock.advance(REQUEST_MS)])).not.toBe("t2");
  await clock.advance(29_999);
  expect([requestedAtMs, keeper.take()]).toEqual([[0, 10], "t1"]);
  await clock.advance(1);
  expect(requestedAtMs).toEqual([0, 10, 30_020]);
});

test("once closed it requests nothing", async () => {
  const { clock, keeper, requestedAtMs } = keeperOf();
  keeper.take();
  await clock.advance(REQUEST_MS);
  keeper.close();
  await clock.advance(60_000);
  keeper.take();
  expect(requestedAtMs).toHaveLength(1);
});
