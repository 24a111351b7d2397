/**
 * Limits the number of open connections. An idle connection is closed to make room for a new one.
 *
 *   with the new connection          an idle connection     result
 *   neither limit is exceeded        -                      the new one is accepted
 *   its address exceeds its limit    of the same address    the one that has been idle longest is closed
 *   its address exceeds its limit    does not exist         the new one is closed
 *   the total limit is exceeded      of any address         the one that has been idle longest is closed, among those
 *                                                           of the address that has the most connections
 *   the total limit is exceeded      does not exist, or     the new one is closed
 *                                    the new one's address
 *                                    has more connections
 *
 * A connection is idle until the head of its first request has arrived, and again between a response and
 * the head of the next request. So connections that send nothing cannot lock other clients out. Requests that do not
 * end could, so a tenth of all connections is reserved for addresses other than the one with the most.
 */

import ipaddr from "ipaddr.js";

export interface ConnectionLimits {
  readonly all: number;
  readonly perAddress: number;
}

export type TooMany = "per-address-limit" | "total-limit";

export interface Closing<Id> {
  readonly id: Id;
  readonly reason: TooMany;
}

export interface Connections<Id> {
  /** Returns the connections that have to be closed because of a new one. The new connection may be among them. */
  open(id: Id, address: string): readonly Closing<Id>[];
  /** Call when the head of a request has arrived on the connection. */
  busy(id: Id): void;
  /** Call when all requests on the connection have been responded to. */
  waiting(id: Id): void;
  closed(id: Id): void;
  total(): number;
}

/** The share of all connections that one address may have. */
const SHARE = 0.9;

interface OfAddress<Id> {
  count: number;
  readonly waiting: Set<Id>;
}

export function createConnections<Id>(limits: ConnectionLimits): Connections<Id> {
  const perAddress = Math.min(limits.perAddress, Math.max(1, Math.floor(limits.all * SHARE)));
  const addresses = new Map<Id, string>();
  const byAddress = new Map<string, OfAddress<Id>>();
  // A set keeps the order of insertion, so the first connection has been idle for the longest time.
  const waiting = new Set<Id>();

  const of = (id: Id) => byAddress.get(addresses.get(id) ?? "");
  const stopWaiting = (id: Id) => {
    waiting.delete(id);
    of(id)?.waiting.delete(id);
  };
  const closed = (id: Id) => {
    const own = of(id);
    if (own === undefined) return;
    stopWaiting(id);
    own.count -= 1;
    if (own.count === 0) byAddress.delete(addresses.get(id) ?? "");
    addresses.delete(id);
  };

  /** The idle connections of the addresses with the most connections. @param own the new connection's address. */
  const ofTheMost = (own: OfAddress<Id>): readonly Id[] => {
    const size = (each: OfAddress<Id> | undefined) => (each?.count ?? 0) + (each === own ? 1 : 0);
    let most = own.count + 1;
    for (const each of byAddress.values()) {
      if (each.waiting.size > 0) most = Math.max(most, size(each));
    }
    return [...waiting].filter((id) => size(of(id)) === most);
  };

  return {
    open: (id, address) => {
      const own = byAddress.get(address) ?? { count: 0, waiting: new Set<Id>() };
      const reason = own.count >= perAddress ? "per-address-limit" : "total-limit";
      const isFull = reason === "per-address-limit" || addresses.size >= limits.all;
      const [longest] = reason === "per-address-limit" ? own.waiting : isFull ? ofTheMost(own) : [];
      if (isFull && longest === undefined) return [{ id, reason }];
      if (isFull && longest !== undefined) closed(longest);
      addresses.set(id, address);
      byAddress.set(address, own);
      own.count += 1;
      own.waiting.add(id);
      waiting.add(id);
      return isFull && longest !== undefined ? [{ id: longest, reason }] : [];
    },
    busy: stopWaiting,
    waiting: (id) => {
      const own = of(id);
      if (own === undefined) return;
      own.waiting.add(id);
      waiting.add(id);
    },
    closed,
    total: () => addresses.size,
  };
}

/** Names the group of connections that are counted together: those from one IPv4 address, or from one IPv6 /64. */
export function addressGroup(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return remoteAddress;
  const address = ipaddr.process(remoteAddress);
  if (address.kind() === "ipv4") return address.toString();
  return address.toByteArray().slice(0, 8).join(":");
}

/**
 * Computes the default limit for all connections from the number of files and sockets that the process may still
 * open.
 */
export function connectionsWithin(most: number, spareDescriptors: number | null): number {
  // The other half is for files, and for connections that the process opens to endpoints and brokers.
  if (spareDescriptors === null) return most;
  return Math.max(1, Math.min(most, Math.floor(spareDescriptors / 2)));
}
