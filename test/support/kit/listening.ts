/** A server of a test, by default on a free port of 127.0.0.1, and its end. */

import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Resolves when the server listens. Disposing it ends its connections too. */
export async function listening(
  server: Server | HttpServer,
  { host = "127.0.0.1", own = 0 } = {},
): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(own, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, sockets },
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
