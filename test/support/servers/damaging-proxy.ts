/** A proxy between a kafkajs client and its brokers that changes what the brokers send. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { KafkaConfig } from "kafkajs";

/**
 * Replaces the first `from` with `to` in each piece of data that a broker sends. The result is for kafkajs'
 * configuration; disposing it cuts all its connections.
 */
export async function damagingProxy(
  from: string,
  to: string,
): Promise<Disposable & { readonly socketFactory: NonNullable<KafkaConfig["socketFactory"]> }> {
  const sockets = new Set<Socket>();
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: ownPort } = server.address() as AddressInfo;
  return {
    socketFactory: ({ host, port, onConnect }) => {
      server.once("connection", (client: Socket) => {
        const broker = connect(port, host);
        for (const socket of [client, broker]) sockets.add(socket.on("error", () => undefined));
        client.pipe(broker);
        broker.on("data", (chunk: Buffer) => {
          const at = chunk.indexOf(from);
          if (at >= 0) chunk.write(to, at);
          client.write(chunk);
        });
        broker.on("close", () => client.destroy());
      });
      return connect(ownPort, "127.0.0.1", onConnect);
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
