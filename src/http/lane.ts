/**
 * Connections to an origin, each with a place of its own. undici's `Client` holds one connection,
 * makes it when it has a request, and makes it anew when it was closed between two requests.
 */

import type { Socket } from "node:net";
import { Client } from "undici";

import { openSocket, type SocketOptions, type TlsSession } from "./connect.ts";
import { type ResponseStart, skipInterim } from "./skip-interim.ts";

/** A connection, or the place for one: the client connects when it has a request. */
export interface Lane {
  readonly client: Client;
  readonly start: ResponseStart;
  socket: Socket | null;
}

export interface Origin {
  readonly url: URL;
  readonly options: SocketOptions;
  readonly session: TlsSession;
  /** Used by nobody now; the one used last is at the end. */
  readonly free: Lane[];
  readonly all: Set<Lane>;
}

export function createOrigin(url: URL, options: SocketOptions): Origin {
  return { url, options, session: { last: null }, free: [], all: new Set() };
}

/** A lane that nobody else uses. Give it back by pushing it to `free`, or drop it. */
export function takeLane(origin: Origin): Lane {
  return origin.free.pop() ?? makeLane(origin);
}

/** The same, surely on a new connection. */
export function makeLane(origin: Origin): Lane {
  const { url, options, session } = origin;
  const isSecure = url.protocol === "https:";
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const port = Number(url.port || (isSecure ? 443 : 80));
  const target = { protocol: url.protocol, hostname, port };
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 1,
    // The deadline takes the place of these.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, callback) => {
      const socket = openSocket(target, options, session, (error) => {
        if (error === null) callback(null, socket);
        else callback(error, null);
      });
      skipInterim(socket, lane.start);
      lane.socket = socket;
    },
  });
  const lane: Lane = { client, start: { awaits: false }, socket: null };
  origin.all.add(lane);
  return lane;
}

/** A client that has failed is not used again: it may still have its error to work off. */
export function dropLane(origin: Origin, lane: Lane): void {
  origin.all.delete(lane);
  const error = new Error("the connection is dropped");
  void lane.client.destroy(error);
  // undici cannot give up a connection that does not stand yet.
  lane.socket?.destroy(error);
}

/** Requests under way end as if the endpoint had reset them. */
export async function closeOrigin(origin: Origin): Promise<void> {
  const error = Object.assign(new Error("the connections are closed"), { code: "ECONNRESET" });
  const closing = [...origin.all].map(({ client, socket }) => {
    const closed = client.destroy(error);
    // undici would wait for a connection that does not stand yet.
    socket?.destroy();
    return closed;
  });
  await Promise.all(closing);
}
