/**
 * Connections to an origin, each with a place of its own. undici's `Client` holds one connection,
 * makes it when it has a request, and makes it anew when it was closed between two requests.
 */

import type { Socket } from "node:net";
import { Client } from "undici";

import { withoutBrackets } from "../domain/addresses.ts";
import {
  boundResponse,
  boundWireBytes,
  OTHER_MAX_BYTES,
  ResponseBounds,
} from "./bound-response.ts";
import { openSocket, type SocketOptions, type SocketTarget, type TlsSession } from "./connect.ts";

const HEAD_BYTES_NEVER = 16 * OTHER_MAX_BYTES;

/** A connection, or the place for one: the client connects when it has a request. */
export interface KeptConnection {
  readonly client: Client;
  readonly bounds: ResponseBounds;
  socket: Socket | null;
  /** Told of a socket that is made for the request under way; null: nobody wants to know. */
  onOpen: OpeningListener | null;
}

export type Opening = readonly [socket: Socket, target: SocketTarget];

interface OpeningListener {
  opening(...socket: Opening): void;
}

export interface Origin {
  readonly url: URL;
  readonly options: SocketOptions;
  readonly session: TlsSession;
  /** Used by nobody now; the one used last is at the end. */
  readonly free: KeptConnection[];
  readonly all: Set<KeptConnection>;
  /** Nothing is sent there any more. */
  isRetired: boolean;
}

function createOrigin(url: URL, options: SocketOptions): Origin {
  const session = { last: null };
  return { url, options, session, free: [], all: new Set(), isRetired: false };
}

/** A connection that nobody else uses. Give it back by `keepConnection`, or drop it. */
export function takeConnection(origin: Origin): KeptConnection {
  return origin.free.pop() ?? makeConnection(origin);
}

/** The same, surely on a new connection. */
export function makeConnection(origin: Origin): KeptConnection {
  const { url, options, session } = origin;
  const isSecure = url.protocol === "https:";
  const hostname = withoutBrackets(url.hostname);
  const port = Number(url.port || (isSecure ? 443 : 80));
  const target = { protocol: url.protocol, hostname, port };
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 1,
    // The deadline takes the place of these.
    headersTimeout: 0,
    bodyTimeout: 0,
    // undici makes an error object for each header beyond this limit. None comes so far: an answer
    // has a lower limit.
    maxHeaderSize: HEAD_BYTES_NEVER,
    connect: (_options, callback) => {
      const socket = openSocket(target, options, session, (error) => {
        if (error === null) callback(null, socket);
        else callback(error, null);
      });
      boundResponse(socket, kept.bounds);
      if (isSecure) boundWireBytes(socket, kept.bounds);
      kept.socket = socket;
      kept.onOpen?.opening(socket, target);
    },
  });
  const kept: KeptConnection = { client, bounds: new ResponseBounds(), socket: null, onOpen: null };
  origin.all.add(kept);
  return kept;
}

/** Gives back a connection whose exchange has ended well. */
export function keepConnection(origin: Origin, kept: KeptConnection): void {
  if (origin.isRetired) dropConnection(origin, kept);
  else origin.free.push(kept);
}

/** Closes what nobody uses; connections in use are closed when they are given back. */
function retireOrigin(origin: Origin): void {
  origin.isRetired = true;
  for (const kept of origin.free.splice(0)) dropConnection(origin, kept);
}

/** A client that has failed is not used again: it may still have its error to work off. */
export function dropConnection(origin: Origin, kept: KeptConnection): void {
  origin.all.delete(kept);
  const error = new Error("the connection is dropped");
  void kept.client.destroy(error);
  // undici cannot give up a connection that does not stand yet.
  kept.socket?.destroy(error);
}

/** Requests under way end as if the endpoint had reset them. */
async function closeOrigin(origin: Origin): Promise<void> {
  const error = Object.assign(new Error("the connections are closed"), { code: "ECONNRESET" });
  const closing = [...origin.all].map(({ client, socket }) => {
    const closed = client.destroy(error);
    // undici would wait for a connection that does not stand yet.
    socket?.destroy();
    return closed;
  });
  await Promise.all(closing);
}

/** Where a request goes. */
export interface Target {
  readonly origin: Origin;
  /** With the query. */
  readonly path: string;
}

interface Endpoint {
  readonly url: string;
}

/** Parsed once per URL. */
const parsed = new WeakMap<Endpoint, { origin: string; path: string; url: URL }>();

function parse(endpoint: Endpoint) {
  const known = parsed.get(endpoint);
  if (known !== undefined) return known;
  const url = new URL(endpoint.url);
  const made = { origin: url.origin, path: `${url.pathname}${url.search}`, url };
  parsed.set(endpoint, made);
  return made;
}

/**
 * The connections of a destination, by origin.
 *
 *   when the settings change        connections of an origin
 *   its TLS files are the same,     stay
 *   and a URL there is requested
 *   else                            are closed: free ones at once, one in use when its response has come
 */
export class Origins {
  #options: SocketOptions;
  #origins = new Map<string, Origin>();
  /** Retired ones with connections in use. */
  readonly #retired = new Set<Origin>();

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  targetOf(endpoint: Endpoint): Target {
    const { origin: name, path, url } = parse(endpoint);
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      origin = createOrigin(url, this.#options);
      this.#origins.set(name, origin);
    }
    return { origin, path };
  }

  /** @param options the same object where nothing about sockets has changed. */
  update(endpoints: readonly Endpoint[], options: SocketOptions): void {
    const names = new Set(endpoints.map((endpoint) => parse(endpoint).origin));
    const isSame = options === this.#options;
    this.#options = options;
    for (const [name, origin] of this.#origins) {
      if (isSame && names.has(name)) continue;
      this.#origins.delete(name);
      retireOrigin(origin);
      this.#retired.add(origin);
    }
    for (const origin of this.#retired) if (origin.all.size === 0) this.#retired.delete(origin);
  }

  /** Requests under way end as if the endpoint had reset them. */
  async close(): Promise<void> {
    await Promise.all([...this.#origins.values(), ...this.#retired].map(closeOrigin));
  }
}
