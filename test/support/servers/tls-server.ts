/** A raw TLS server, which records its handshakes and the bytes that reach it. */

import { createServer, type TLSSocket, type TlsOptions } from "node:tls";

import { listening } from "../kit/listening.ts";

export interface Handshake {
  readonly subject: string | undefined;
  readonly serverName: string | null;
  readonly isResumed: boolean;
}

export interface TlsServer extends AsyncDisposable {
  readonly port: number;
  /** Decrypted bytes of all connections. If empty, no byte of a request has arrived. */
  readonly received: () => string;
  /** Number of TCP connections so far. There is one even if the client rejected the certificate. */
  readonly connections: () => number;
  /** For each handshake: the client's certificate, the requested name, and whether the session was resumed. */
  readonly handshakes: readonly Handshake[];
  /** Connections that are open now. */
  readonly open: () => number;
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Responds 200 to each chunk. */
export async function tlsServer(options: TlsOptions): Promise<TlsServer> {
  const handshakes: Handshake[] = [];
  let received = "";
  let connections = 0;
  const server = createServer(options, (socket: TLSSocket) => {
    const subject = socket.getPeerX509Certificate()?.subject;
    // The value is false if the client sends no name.
    const serverName = (socket.servername as string | false | null) || null;
    handshakes.push({ subject, serverName, isResumed: socket.isSessionReused() });
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      socket.write(OK);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.on("tlsClientError", () => undefined);
  const { port, sockets, [Symbol.asyncDispose]: dispose } = await listening(server);
  return {
    port,
    received: () => received,
    connections: () => connections,
    handshakes,
    open: () => sockets.size,
    [Symbol.asyncDispose]: dispose,
  };
}
