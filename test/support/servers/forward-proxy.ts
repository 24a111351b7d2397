/** A forward proxy that tests control. It opens tunnels with CONNECT, and can be stopped and started again. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** How the proxy responds to CONNECT: with a tunnel, or in any other way. */
export type ProxyManner = "tunnel" | ((socket: Socket) => void);

export interface ForwardProxy extends AsyncDisposable {
  /** Without credentials. */
  readonly url: string;
  readonly port: number;
  manner: ProxyManner;
  /** The heads of the requests. */
  readonly heads: readonly string[];
  /** When each connection was accepted. */
  readonly acceptedAtMs: readonly number[];
  /** Connections that are open now. */
  open(): number;
  /** Refuses connections, and ends those that are open. */
  stop(): Promise<void>;
  /** Accepts connections again, on the same port. */
  start(): Promise<void>;
}

interface Options {
  readonly tls?: TlsOptions;
  /** Only this value of `Proxy-Authorization` is accepted. */
  readonly authorization?: string;
  readonly manner?: ProxyManner;
  readonly port?: number;
}

/** A name that no client can resolve; the proxy connects to 127.0.0.1. */
export const NAME_OF_PROXY = "receiver.invalid";

export async function forwardProxy(options: Options = {}): Promise<ForwardProxy> {
  const { tls, authorization } = options;
  const heads: string[] = [];
  const acceptedAtMs: number[] = [];
  const sockets = new Set<Socket>();
  const take = (socket: Socket) => {
    let head = "";
    socket.on("error", () => undefined);
    const read = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.removeListener("data", read);
      heads.push(head);
      if (proxy.manner !== "tunnel") proxy.manner(socket);
      else if (authorization !== undefined && !head.includes(authorization)) respond(socket, 407);
      else openTunnel(socket, head, sockets);
    };
    socket.on("data", read);
  };
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  server.on("tlsClientError", () => undefined);
  server.on("connection", (socket: Socket) => {
    acceptedAtMs.push(performance.now());
    keep(sockets, socket);
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const port = await listen(options.port ?? 0);
  const proxy: ForwardProxy = {
    url: `${tls === undefined ? "http" : "https"}://localhost:${port}`,
    port,
    manner: options.manner ?? "tunnel",
    heads,
    acceptedAtMs,
    open: () => sockets.size,
    stop,
    start: async () => {
      await listen(port);
    },
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await stop();
    },
  };
  return proxy;
}

export function respond(socket: Socket, status: number): void {
  socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
}

function keep(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on("error", () => undefined);
  socket.on("close", () => sockets.delete(socket));
}

function openTunnel(socket: Socket, head: string, sockets: Set<Socket>): void {
  const [, host = "", port = ""] = /^CONNECT \[?([^ ]*?)\]?:(\d+) /.exec(head) ?? [];
  const to = connect(Number(port), host === NAME_OF_PROXY ? "127.0.0.1" : host);
  keep(sockets, to);
  const fail = () => respond(socket, 502);
  to.once("error", fail);
  to.once("connect", () => {
    to.removeListener("error", fail);
    socket.write("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
    socket.pipe(to).pipe(socket);
  });
  socket.on("close", () => to.destroy());
  to.on("close", () => socket.destroySoon());
}
