// The connections for JoinGroup and SyncGroup requests, of which there are at most 256 to a broker.

import { expect, test } from "vitest";

import {
  BrokerConnection,
  type CreateBroker,
} from "../../../../src/kafka/broker/broker-connection.ts";
import type { OpenConnection } from "../../../../src/kafka/broker/open-connection.ts";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import { joinGroup, syncGroup } from "../../../../src/kafka/broker/requests.ts";
import { SharedConnections } from "../../../../src/kafka/broker/shared-connections.ts";

const CONNECTIONS_MAX = 256;
const NEVER = new AbortController().signal;

interface Sent {
  readonly apiName: string;
  readonly group: unknown;
  readonly respond: () => void;
}

test("when a group has joined, its SyncGroup comes before the JoinGroups that wait for a connection", async () => {
  const sent: Sent[] = [];
  const send = ({ kind: { apiName }, args: [group] }: Request<unknown>): Promise<unknown> =>
    new Promise((resolve) => {
      sent.push({ apiName, group, respond: () => resolve({}) });
    });
  const opened = {
    isOpen: true,
    throttledForMs: 0,
    send,
    open: async () => opened,
    close: () => undefined,
  };
  const createBroker: CreateBroker = () =>
    new BrokerConnection(() => opened as unknown as OpenConnection, { isGathered: false });
  const connections = new SharedConnections(createBroker, [], () => false);
  const broker = connections.broker({ host: "a", port: 1 });
  const member = async (group: string): Promise<void> => {
    await broker.request(joinGroup(group, 1, 1, "", null, "consumer", []), NEVER);
    await broker.request(syncGroup(group, 1, "", null, "consumer", "any", []), NEVER);
  };
  const members = Array.from({ length: 2 * CONNECTIONS_MAX }, (_, at) => member(`g${at}`));
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX);
  const [, second] = sent;
  second?.respond();
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX + 1);
  expect(sent.at(-1)).toMatchObject({ apiName: "SyncGroup", group: second?.group });
  sent.at(-1)?.respond();
  await expect.poll(() => sent.length, { timeout: 2_000 }).toBe(CONNECTIONS_MAX + 2);
  expect(sent.at(-1)).toMatchObject({ apiName: "JoinGroup", group: `g${CONNECTIONS_MAX}` });
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
