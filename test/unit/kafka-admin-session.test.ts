// The admin session around a client that fails as a test says.

import { expect, test, vi } from "vitest";

import { AdminSession } from "../../src/kafka/admin-session.ts";
import type { Client, Clients } from "../../src/kafka/connection.ts";

const resolved = async () => undefined;

function world() {
  const made = vi.fn(() => {
    const end = { connect: resolved, disconnect: resolved };
    const client = { kafka: { admin: () => end }, brokerPool: () => end, destroy: () => undefined };
    return client as unknown as Client;
  });
  const clients = { create: made } as unknown as Clients;
  return { session: new AdminSession(clients, 1_000, 1), made };
}

function protocolError(type: string): Error {
  return Object.assign(new Error(`failed with ${type}`), { type });
}

test("while a partition's leader is elected a call is made again, with a new client", async () => {
  const { session, made } = world();
  const act = vi
    .fn(async () => "done")
    .mockRejectedValueOnce(protocolError("NOT_LEADER_FOR_PARTITION"))
    .mockRejectedValueOnce(protocolError("LEADER_NOT_AVAILABLE"));
  expect(await session.call("offsets", act)).toBe("done");
  expect(made).toHaveBeenCalledTimes(3);
});

test("not for ever, and other errors are told at once", async () => {
  const { session } = world();
  const never = session.call("offsets", async () => {
    throw protocolError("LEADER_NOT_AVAILABLE");
  });
  await expect(never).rejects.toThrow("admin.offsets: failed with LEADER_NOT_AVAILABLE");
  const act = vi.fn(async () => Promise.reject(protocolError("TOPIC_AUTHORIZATION_FAILED")));
  await expect(session.call("offsets", act)).rejects.toThrow("TOPIC_AUTHORIZATION_FAILED");
  expect(act).toHaveBeenCalledTimes(1);
});
