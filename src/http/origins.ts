/**
 * The connections of a destination, by origin.
 *
 *   when the settings change        connections of an origin
 *   its TLS files are the same,     stay
 *   and a URL there is asked for
 *   else                            are closed: free ones at once, one in use when its answer is there
 */

import type { SocketOptions } from "./connect.ts";
import { closeOrigin, createOrigin, type Origin, retireOrigin } from "./kept-connection.ts";

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
