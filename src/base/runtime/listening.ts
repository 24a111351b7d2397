/** Addresses on which servers listen, their notation, and the limits of their connections. */

import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type AddressInfo, isIPv6, type Socket } from "node:net";

import {
  addressGroup,
  type ConnectionLimits,
  createConnections,
  type TooMany,
} from "./connections.ts";

/** All addresses, IPv6 and IPv4. */
export const ALL_ADDRESSES = "::";

/**
 * Resolves with the port when the server is listening.
 *
 * For all addresses, the host is omitted: Node then listens on all IPv6 and IPv4 addresses or, on a machine without
 * IPv6, on all IPv4 addresses. With the host `::`, listening would fail on such a machine.
 *
 * @param section the section of the configuration that contains `host` and `port`.
 * @throws Error with the settings to change. Its cause is the system's error.
 */
export async function listenOn(
  server: Server,
  { host, port, reusePort = false }: { host: string; port: number; reusePort?: boolean },
  section: string,
): Promise<number> {
  server.listen({ port, reusePort, ...(host === ALL_ADDRESSES ? {} : { host }) });
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new Error(
      `${section}.host, ${section}.port: cannot listen on ${hostAndPort(host, port)}; choose another port or stop what uses it`,
      { cause },
    );
  }
  return (server.address() as AddressInfo).port;
}

/** Stops listening, and closes all connections. Resolves when they are closed. */
export async function closeNow(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

export function hostAndPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Applies the limits to a server. @param onTooMany called when a connection is closed because a limit is exceeded. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  onTooMany: (reason: TooMany) => void = () => undefined,
): { readonly total: () => number } {
  const connections = createConnections<string>(limits);
  /** Each connection, and the number of its requests that do not have a response yet. */
  const open = new Map<string, { readonly socket: Socket; requests: number }>();
  server.on("connection", (socket: Socket) => {
    const id = idOf(socket);
    open.set(id, { socket, requests: 0 });
    socket.once("close", () => {
      connections.closed(id);
      open.delete(id);
    });
    for (const closing of connections.open(id, addressGroup(socket.remoteAddress ?? ""))) {
      onTooMany(closing.reason);
      open.get(closing.id)?.socket.destroy();
    }
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const id = idOf(socket);
    const kept = open.get(id);
    if (kept === undefined) return;
    kept.requests += 1;
    connections.busy(id);
    response.once("close", () => {
      kept.requests -= 1;
      if (kept.requests === 0) connections.waiting(id);
    });
  });
  return { total: connections.total };
}

/** Identifies a connection. A connection and the TLS socket on top of it have the same ID. */
function idOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
