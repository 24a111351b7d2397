/** Addresses on which servers listen, their notation, and the limits of their connections. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isIPv6, type Socket } from "node:net";

import {
  addressGroup,
  type ConnectionLimits,
  createConnections,
  type TooMany,
} from "./connections.ts";

/** All addresses, IPv6 and IPv4. */
export const ALL_ADDRESSES = "::";

/**
 * Options for `server.listen`. For all addresses, the host is omitted: Node then listens on all IPv6 and IPv4 addresses
 * or, on a machine without IPv6, on all IPv4 addresses. With the host `::`, listening would fail on such a machine.
 */
export function listenOn(host: string): { readonly host?: string } {
  return host === ALL_ADDRESSES ? {} : { host };
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
