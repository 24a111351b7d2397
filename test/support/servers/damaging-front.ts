/**
 * A proxy to a private broker that changes a word in what the broker sends, like a disk or a
 * network that corrupts a record batch. Requests are not changed.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface DamagingFront extends Disposable {
  /** `host:port`, which the broker must advertise as one of its addresses. */
  readonly address: string;
  /** Address of the broker, `host:port`. Must be set before the first connection. */
  behind: string;
}

/** @param to a word of the same length as `from` */
export async function damagingFront(from: string, to: string): Promise<DamagingFront> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const [host, port] = front.behind.split(":");
    const broker = connect(Number(port), host);
    for (const socket of [client, broker]) sockets.add(socket.on("error", () => undefined));
    client.pipe(broker);
    broker.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(from); at >= 0; at = chunk.indexOf(from, at + 1)) {
        chunk.write(to, at);
      }
      client.write(chunk);
    });
    broker.on("close", () => client.destroy());
    client.on("close", () => broker.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const front = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    behind: "",
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return front;
}
