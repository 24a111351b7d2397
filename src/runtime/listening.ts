/** Addresses to listen on, and how they are written. */

import { isIPv6 } from "node:net";

/** All addresses, IPv6 and IPv4. */
export const ALL_ADDRESSES = "::";

/**
 * For `server.listen`. Without a host Node listens on all addresses of both kinds, or, on a host that
 * has no IPv6, on those of IPv4. With `::` it would fail there.
 */
export function listenOn(host: string): { readonly host?: string } {
  return host === ALL_ADDRESSES ? {} : { host };
}

export function hostAndPort(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
