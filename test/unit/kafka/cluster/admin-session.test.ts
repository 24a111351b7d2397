// The admin session with a client that fails as each test specifies.

import { expect, test, vi } from "vitest";

import { AdminSession } from "../../../../src/kafka/cluster/admin-session.ts";
import type { Client, Clients } from "../../../../src/kafka/cluster/connection.ts";

function world(connect = async () => undefined, limitMs = 1_000) {
  const made = vi.fn(() => {
    return { shared: { any: connect }, destroy: () => undefined } as unknown as Client;
  });
  const clients = { create: made } as unknown as Clients;
  return { session: new AdminSession(clients, limitMs, 1), made };
}

function protocolError(type: string): Error {
  return Object.assign(new Error(`failed with ${type}`), { type });
}

test("while a partition's leader is elected a call is made again, with a new client", async () => {
  const { session, made } = world();
  const act = vi
    .fn(async () => "done")
    .mockRejectedValueOnce(protocolError("NOT_LEADER_OR_FOLLOWER"))
    .mockRejectedValueOnce(protocolError("LEADER_NOT_AVAILABLE"));
  expect(await session.call("offsets", act)).toBe("done");
  expect(made).toHaveBeenCalledTimes(3);
});

test.each(["COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"])(
  "after %s, which passes, a call is repeated",
  async (type) => {
    const act = vi.fn(async () => "done").mockRejectedValueOnce(protocolError(type));
    act.mockRejectedValueOnce(protocolError(type));
    expect(await world().session.call("committed", act)).toBe("done");
  },
);

test("not once it is closed", async () => {
  const { session, made } = world();
  const called = session.call("offsets", async () => {
    throw protocolError("LEADER_NOT_AVAILABLE");
  });
  await expect.poll(() => made.mock.calls.length).toBeGreaterThan(1);
  const closed = session.close();
  await expect(called).rejects.toThrow("admin.offsets: failed with LEADER_NOT_AVAILABLE");
  await closed;
  const count = made.mock.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(made).toHaveBeenCalledTimes(count);
});

test("other errors are reported at once", async () => {
  const { session } = world();
  const act = vi.fn(async () => Promise.reject(protocolError("TOPIC_AUTHORIZATION_FAILED")));
  await expect(session.call("offsets", act)).rejects.toThrow("TOPIC_AUTHORIZATION_FAILED");
  expect(act).toHaveBeenCalledTimes(1);
});

test("connecting is tried four times, if trying again can help", async () => {
  vi.useFakeTimers();
  try {
    const connect = vi.fn(async () => Promise.reject(error(true)));
    const failed = world(connect, 3_000).session.call("offsets", async () => "done");
    await expect(Promise.all([failed, vi.advanceTimersByTimeAsync(2_100)])).rejects.toThrow(
      "admin.offsets: not connected",
    );
    expect(connect).toHaveBeenCalledTimes(4);
    const rejected = vi.fn(async () => Promise.reject(error(false)));
    await expect(world(rejected).session.call("offsets", async () => "done")).rejects.toThrow();
    expect(rejected).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }

  function error(retriable: boolean): Error {
    return Object.assign(new Error("not connected"), { retriable });
  }
});

test("the time limit starts again with each completed step", async () => {
  vi.useFakeTimers();
  try {
    const { session } = world();
    const called = session.call("create", async (_client, onStep) => {
      for (let step = 0; step < 3; step += 1) {
        await new Promise((resolve) => setTimeout(resolve, 900));
        onStep();
      }
      await new Promise(() => undefined);
    });
    const failed = vi.fn();
    called.catch(failed);
    await vi.advanceTimersByTimeAsync(3_600);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    await expect(called).rejects.toThrow("admin.create: no response within 1000 ms");
  } finally {
    vi.useRealTimers();
  }
});
