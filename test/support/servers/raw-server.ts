/** A TCP server that sends the exact bytes that a test specifies, and stores the bytes that it receives. */

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  /** The bytes from each connection, in the order in which the connections were opened. */
  readonly received: readonly string[];
  readonly connections: () => number;
  /** Connections that are open now. */
  readonly open: () => number;
}

/** Address to listen on; by default any port of 127.0.0.1. */
interface At {
  readonly host: string;
  readonly port: number;
}

/**
 * @param onRequest called with each chunk that a connection sends.
 * @param keeps false if there are too many connections to store what they sent.
 */
export async function rawServer(
  onRequest: (socket: Socket, chunk: string) => void,
  keeps = true,
  { host, port: wanted }: At = { host: "127.0.0.1", port: 0 },
): Promise<RawServer> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    const index = connections;
    connections += 1;
    if (keeps) received.push("");
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // Errors are ignored, because some tests reset connections.
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      if (keeps) received[index] += chunk.toString("latin1");
      onRequest(socket, chunk.toString("latin1"));
    });
  });
  server.listen(wanted, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    received,
    connections: () => connections,
    open: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
