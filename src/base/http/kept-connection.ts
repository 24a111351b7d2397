/**
 * Manages the connections to an origin. For each connection there is an undici `Client`, which opens the connection for
 * the first request, and opens a new one if the connection was closed between two requests.
 *
 *   a free connection, when a request needs one    the request
 *   is younger than `connectionMaxAgeMs`           uses it
 *   is older                                       uses another one, and this one is closed
 *   there is none                                  opens one: its name is resolved and its certificate is checked again
 *
 * What was true when a connection was opened, such as an address or a certificate, is therefore not used for longer.
 * TLS sessions have the same greatest age, because resuming one skips the check of the certificate.
 */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { Client } from "undici";

import { withoutBrackets } from "../../domain/addresses.ts";
import { type BoundedStream, OTHER_MAX_BYTES } from "./bound-response.ts";
import { openSocket, type SocketOptions, type SocketTarget, type TlsSession } from "./connect.ts";

const HEAD_BYTES_NEVER = 16 * OTHER_MAX_BYTES;

/** A connection, or a client that will connect when it gets a request. */
export interface KeptConnection {
  readonly client: Client;
  socket: BoundedStream | null;
  openedAtMs: number;
  /** Called with each socket that is opened for the current request; null if there is no listener. */
  onOpen: OpeningListener | null;
}

export type Opening = readonly [socket: BoundedStream, target: SocketTarget];

interface OpeningListener {
  opening(...socket: Opening): void;
}

export interface Origin {
  readonly name: string;
  readonly url: URL;
  readonly options: SocketOptions;
  readonly session: TlsSession;
  /** Connections that are not in use, the most recently used one last. */
  readonly free: KeptConnection[];
  readonly all: Set<KeptConnection>;
  /** True if no more requests are sent to this origin. */
  isRetired: boolean;
}

function createOrigin(name: string, url: URL, options: SocketOptions): Origin {
  const session = { last: null };
  return { name, url, options, session, free: [], all: new Set(), isRetired: false };
}

/** Takes a connection for exclusive use. Return the connection with `keepConnection`, or drop it. */
export function takeConnection(origin: Origin, nowMs: number): KeptConnection {
  for (;;) {
    const kept = origin.free.pop();
    if (kept === undefined) return makeConnection(origin);
    if (nowMs - kept.openedAtMs < origin.options.connectionMaxAgeMs) return kept;
    dropConnection(origin, kept);
  }
}

/** Like `takeConnection`, but always returns a new connection. */
export function makeConnection(origin: Origin): KeptConnection {
  const { url, options, session } = origin;
  const isSecure = url.protocol === "https:";
  const hostname = withoutBrackets(url.hostname);
  const port = Number(url.port || (isSecure ? 443 : 80));
  const target = { protocol: url.protocol, hostname, port };
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 1,
    keepAliveMaxTimeout: options.connectionMaxAgeMs,
    // The request's deadline replaces these timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Beyond this limit, undici would create an error object for each header. The limit of the whole response is lower,
    // so this never happens.
    maxHeaderSize: HEAD_BYTES_NEVER,
    connect: (_options, callback) => {
      const socket = openSocket(target, options, session, (error) => {
        // undici uses only methods that all streams have, and `ref` and `unref`.
        if (error === null) callback(null, socket as Duplex as Socket);
        else callback(error, null);
      });
      kept.socket = socket;
      kept.openedAtMs = performance.now();
      const { hostname: first } = options.proxy ?? target;
      kept.onOpen?.opening(socket, { ...target, hostname: first });
    },
  });
  const kept: KeptConnection = { client, socket: null, openedAtMs: 0, onOpen: null };
  origin.all.add(kept);
  return kept;
}

/** Returns a connection to the origin after its exchange has ended without an error. */
export function keepConnection(origin: Origin, kept: KeptConnection): void {
  if (origin.isRetired) dropConnection(origin, kept);
  else origin.free.push(kept);
}

/** Closes unused connections; a connection in use is closed when it is returned. */
function retireOrigin(origin: Origin): void {
  origin.isRetired = true;
  for (const kept of origin.free.splice(0)) dropConnection(origin, kept);
}

/** A client that has failed is not used again, because it may not have handled its error yet. */
export function dropConnection(origin: Origin, kept: KeptConnection): void {
  origin.all.delete(kept);
  const error = new Error("the connection was dropped");
  void kept.client.destroy(error);
  // undici cannot cancel a connection that is not established yet.
  kept.socket?.destroy(error);
}

/** Requests in flight fail as if the endpoint had reset them. */
async function closeOrigin(origin: Origin): Promise<void> {
  const error = Object.assign(new Error("the connections were closed"), { code: "ECONNRESET" });
  const closing = [...origin.all].map(({ client, socket }) => {
    const closed = client.destroy(error);
    // undici would wait for a connection that is not established yet.
    socket?.destroy();
    return closed;
  });
  await Promise.all(closing);
}

export interface Target {
  readonly origin: Origin;
  /** Includes the query. */
  readonly path: string;
}

interface Endpoint {
  readonly url: string;
}

/** Each URL is parsed once. */
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
 *   when the settings change                     connections to an origin
 *   its TLS files and its proxy are the same,    stay
 *   and a URL on the origin is used
 *   otherwise                                    are closed: unused ones immediately, others after their response
 */
export class Origins {
  #options: SocketOptions;
  #origins: Origin[] = [];
  /** Retired origins that still have connections in use. */
  #retired: Origin[] = [];

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  targetOf(endpoint: Endpoint): Target {
    const { origin: name, path, url } = parse(endpoint);
    let origin = this.#origins.find((each) => each.name === name);
    if (origin === undefined) {
      origin = createOrigin(name, url, this.#options);
      this.#origins.push(origin);
    }
    return { origin, path };
  }

  update(endpoints: readonly Endpoint[], options: SocketOptions): void {
    const names = new Set(endpoints.map((endpoint) => parse(endpoint).origin));
    const isSame = isDeepStrictEqual(options, this.#options);
    this.#options = options;
    const isUsed = ({ name }: Origin) => isSame && names.has(name);
    const unused = this.#origins.filter((origin) => !isUsed(origin));
    for (const origin of unused) retireOrigin(origin);
    this.#origins = this.#origins.filter(isUsed);
    this.#retired = [...this.#retired, ...unused].filter(({ all }) => all.size > 0);
  }

  /** Requests in flight fail as if the endpoint had reset them. */
  async close(): Promise<void> {
    await Promise.all([...this.#origins, ...this.#retired].map(closeOrigin));
  }
}
