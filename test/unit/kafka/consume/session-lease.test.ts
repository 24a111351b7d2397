// How long a member can be certain that the group's coordinator has not removed it.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SessionLease } from "../../../../src/kafka/consume/session-lease.ts";
import { OnePartition } from "../../../support/kafka-client/one-partition.ts";

/** Creates a group whose heartbeats get their responses from the test. */
function world() {
  let nowMs = 100_000;
  let response: ReturnType<typeof Promise.withResolvers<void>> | null = null;
  const lease = new SessionLease(10_000, () => nowMs);
  const member = {
    heardAtMs: 0,
    heartbeat: () =>
      lease.heartbeat(member, () => {
        response ??= Promise.withResolvers<void>();
        return response.promise;
      }),
  };
  return {
    lease,
    makeCertain: () => lease.makeCertain(member),
    pass: (ms: number) => {
      nowMs += ms;
    },
    ask: () => member.heartbeat(),
    accept: () => {
      member.heardAtMs = nowMs;
      response?.resolve();
      response = null;
    },
    refuse: (type: string) => {
      response?.reject(Object.assign(new Error("refused"), { type }));
      response = null;
    },
    /** The last heartbeat is recent, so none is sent. */
    passOver: () => {
      response?.resolve();
      response = null;
    },
  };
}

test("before it has joined, nothing is certain; after that it is for most of the session", () => {
  const { lease, pass } = world();
  expect(lease.isCertain()).toBe(false);
  lease.start();
  pass(8_999);
  expect(lease.isCertain()).toBe(true);
  pass(1);
  expect(lease.isCertain()).toBe(false);
});

test("a heartbeat with a response counts from when it was sent, also for those who asked later", async () => {
  const { lease, pass, ask, accept } = world();
  lease.start();
  pass(5_000);
  const first = ask();
  pass(3_000);
  const second = ask();
  pass(3_000);
  accept();
  await Promise.all([first, second]);
  expect(lease.isCertain()).toBe(true);
  pass(3_000);
  expect(lease.isCertain()).toBe(false);
});

test("one that was not sent, or got no response, proves nothing", async () => {
  const { lease, pass, ask, passOver, refuse } = world();
  lease.start();
  pass(8_000);
  const notSent = ask();
  passOver();
  await notSent;
  const failed = ask();
  refuse("COORDINATOR_NOT_AVAILABLE");
  await expect(failed).rejects.toThrow("refused");
  pass(2_000);
  expect(lease.isCertain()).toBe(false);
});

test.each([
  ["REBALANCE_IN_PROGRESS", true],
  ["UNKNOWN_MEMBER_ID", false],
])("after the response %s it is certain: %s", async (type, isCertain) => {
  const { lease, pass, ask, refuse } = world();
  lease.start();
  pass(20_000);
  const asked = ask();
  refuse(type);
  await expect(asked).rejects.toThrow("refused");
  expect(lease.isCertain()).toBe(isCertain);
});

test("a heartbeat that was in progress during a freeze does not do: another one is sent", async () => {
  const { lease, pass, ask, accept, makeCertain } = world();
  lease.start();
  const underWay = ask();
  pass(20_000);
  const certain = makeCertain();
  accept();
  await underWay;
  expect(lease.isCertain()).toBe(false);
  await new Promise(setImmediate);
  pass(1);
  accept();
  expect([await certain, lease.isCertain()]).toEqual([true, true]);
});

test("who cannot become certain gets an error, and is not kept waiting", async () => {
  const { pass, lease, passOver, makeCertain } = world();
  lease.start();
  pass(20_000);
  const certain = makeCertain();
  for (let heartbeat = 0; heartbeat < 3; heartbeat += 1) {
    passOver();
    await new Promise(setImmediate);
  }
  expect(await certain).toBe(false);
});

describe("a clock that is set back", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("stops no heartbeat, and what is known is asked again", async () => {
    const lease = new SessionLease(10_000, Date.now);
    const member = new OnePartition();
    member.heardAtMs = Date.now();
    member.wrapHeartbeat = (send) => lease.heartbeat(member, send);
    lease.start();
    vi.setSystemTime(Date.now() - 600_000);
    expect(lease.isCertain()).toBe(false);
    for (let second = 0; second < 10; second += 1) {
      vi.setSystemTime(Date.now() + 1_000);
      await member.heartbeat(2_500);
    }
    expect(member.heartbeats).toBe(4);
    expect(lease.isCertain()).toBe(true);
  });
});
