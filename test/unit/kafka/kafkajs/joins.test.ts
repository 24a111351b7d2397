// The connections for JoinGroup and SyncGroup requests, of which there are at most 256 to a broker.

import { expect, test } from "vitest";

import type { Broker, CreateBroker, Protocol } from "../../../../src/kafka/kafkajs/internals.ts";
import { SharedConnections } from "../../../../src/kafka/kafkajs/shared-connections.ts";

const JOIN_GROUP = 11;
const SYNC_GROUP = 14;
const CONNECTIONS_MAX = 256;
const NEVER = new AbortController().signal;

interface Sent {
  readonly apiKey: number;
  readonly group: string;
  readonly respond: () => void;
}

test("when a group has joined, its SyncGroup comes before the JoinGroups that wait for a connection", async () => {
  const sent: Sent[] = [];
  const send = ({ request }: Protocol): Promise<unknown> =>
    new Promise((resolve) => {
      const { apiKey, group } = request as unknown as Omit<Sent, "respond">;
      sent.push({ apiKey, group, respond: () => resolve({}) });
    });
  const protocolOf = (name: string, { group }: { readonly group: string }) => ({
    request: { apiKey: name === "JoinGroup" ? JOIN_GROUP : SYNC_GROUP, group },
    response: { decode: async () => ({}) },
  });
  const connection = {
    requestQueue: { throttledUntil: 0 },
    ...{ send, isConnected: () => true, rejectRequests: () => undefined },
    socket: { destroy: () => undefined },
  };
  const createBroker: CreateBroker = () =>
    ({
      connectionPool: { pool: [connection] },
      versions: {},
      connect: async () => undefined,
      disconnect: async () => undefined,
      protocolOf,
    }) as unknown as Broker;
  const connections = new SharedConnections(createBroker, [], () => false);
  const broker = connections.broker({ host: "a", port: 1 });
  const member = async (group: string): Promise<void> => {
    await broker.request("JoinGroup", { group }, NEVER);
    await broker.request("SyncGroup", { group }, NEVER);
  };
  const members = Array.from({ length: 2 * CONNECTIONS_MAX }, (_, at) => member(`g${at}`));
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX);
  const [, second] = sent;
  second?.respond();
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX + 1);
  expect(sent.at(-1)).toMatchObject({ apiKey: SYNC_GROUP, group: second?.group });
  sent.at(-1)?.respond();
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX + 2);
  expect(sent.at(-1)).toMatchObject({ apiKey: JOIN_GROUP, group: `g${CONNECTIONS_MAX}` });
  // All others get their turn.
  let responded = 0;
  const respondToAll = () => {
    for (; responded < sent.length; responded += 1) sent[responded]?.respond();
    return sent.length;
  };
  await expect.poll(respondToAll, { timeout: 2_000 }).toBe(4 * CONNECTIONS_MAX);
  respondToAll();
  await Promise.all(members);
  connections.close();
});
