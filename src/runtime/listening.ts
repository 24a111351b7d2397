/** Addresses on which servers listen, and their notation. */

import { isIPv6 } from "node:net";

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
