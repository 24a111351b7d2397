// Sockets to brokers that every waiting request closes, repeatedly. Node warns of too many listeners on a socket, and
// operators would see this warning.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { Clients } from "../../src/kafka/cluster/connection.ts";
import { type Broker, cutOff } from "../../src/kafka/kafkajs/internals.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { connectionTo, piledListeners } from "../support/worlds/fronted-kafka.ts";

const WAITING = 60;

test.each<[how: string, ends: (broker: Broker, peer: Socket) => unknown]>([
  ["cut off from here", (broker) => cutOff(broker)],
  ["ended by the broker", (_, peer) => peer.end()],
  ["reset by the broker", (_, peer) => peer.resetAndDestroy()],
])("%s, and closed by each of 60 requests", async (_, ends) => {
  const piled = piledListeners();
  const server = createServer((socket) => socket.on("error", () => undefined));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = new Clients(connectionTo(`127.0.0.1:${port}`), new LogLines().log).create();
  onTestFinished(() => client.destroy());
  const broker = client.createBroker({ host: "127.0.0.1", port });
  const accepted = once(server, "connection");
  const [connection] = broker.connectionPool.pool;
  await (connection as unknown as { connect(): Promise<unknown> }).connect();
  const [peer] = (await accepted) as [Socket];
  const socket = connection?.socket;
  const closed = new Promise((resolve) => socket?.once("close", resolve));
  ends(broker, peer);
  while (socket?.destroyed !== true) await sleep(0);
  // kafkajs does this for each request that fails with its connection.
  await Promise.all(Array.from({ length: WAITING }, () => broker.disconnect()));
  await closed;
  await Promise.all(Array.from({ length: WAITING }, () => broker.disconnect()));
  await sleep(0);
  expect(piled).toEqual([]);
});
