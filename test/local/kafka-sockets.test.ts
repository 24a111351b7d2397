// Connections that end while many requests wait for them. Node warns of too many listeners on a socket, and operators
// would see this warning.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import type { BrokerConnection } from "../../src/kafka/broker/broker-connection.ts";
import { metadata } from "../../src/kafka/broker/requests.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { connectionTo, piledListeners } from "../support/worlds/fronted-kafka.ts";

const WAITING = 60;

test.each<[how: string, ends: (broker: BrokerConnection, peer: Socket) => unknown]>([
  ["closed from here", (broker) => broker.close()],
  ["ended by the broker", (_, peer) => peer.end()],
  ["reset by the broker", (_, peer) => peer.resetAndDestroy()],
])("%s, and awaited by each of 60 requests", async (_, ends) => {
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
  const sent = Array.from({ length: WAITING }, () => broker.send(metadata(null, false)));
  const [peer] = (await accepted) as [Socket];
  // The request for the versions.
  await once(peer, "data");
  ends(broker, peer);
  const ended = await Promise.allSettled(sent);
  expect(ended.map(({ status }) => status)).toEqual(Array(WAITING).fill("rejected"));
  await sleep(0);
  expect(piled).toEqual([]);
});
