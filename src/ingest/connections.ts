/**
 * Which connections may be open. One that waits for a request gives way to a new one.
 *
 *   with the new connection        one that waits            result
 *   both limits hold               any                       it is taken
 *   its address has too many       is of that address        the one that has waited longest is closed
 *   its address has too many       there is none             the new one is closed
 *   there are too many in all      is of any address         the one that has waited longest is closed
 *   there are too many in all      there is none             the new one is closed
 *
 * A connection waits from its beginning until the head of a request has come, and again from an answer
 * to the next head. So connections that are opened and left alone keep nobody out.
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
  /** The connections that must be closed for the new one, itself or others. */
  open(id: Id, address: string): readonly Closing<Id>[];
  /** A request has come on it. */
  busy(id: Id): void;
  /** All its requests are answered. */
  waiting(id: Id): void;
  closed(id: Id): void;
  total(): number;
}

interface OfAddress<Id> {
  count: number;
  readonly waiting: Set<Id>;
}

export function createConnections<Id>(limits: ConnectionLimits): Connections<Id> {
  const addresses = new Map<Id, string>();
  const byAddress = new Map<string, OfAddress<Id>>();
  // Sets keep their order, so the first one has waited longest.
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

  return {
    open: (id, address) => {
      const own = byAddress.get(address) ?? { count: 0, waiting: new Set<Id>() };
      const full = own.count >= limits.perAddress ? "per-address-limit" : "total-limit";
      const isFull = full === "per-address-limit" || addresses.size >= limits.all;
      const [longest] = full === "per-address-limit" ? own.waiting : waiting;
      if (isFull && longest === undefined) return [{ id, reason: full }];
      if (isFull && longest !== undefined) closed(longest);
      addresses.set(id, address);
      byAddress.set(address, own);
      own.count += 1;
      own.waiting.add(id);
      waiting.add(id);
      return isFull && longest !== undefined ? [{ id: longest, reason: full }] : [];
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

/** Connections of one group count together: of an IPv4 address, or of an IPv6 /64. */
export function addressGroup(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return remoteAddress;
  const address = ipaddr.process(remoteAddress);
  if (address.kind() === "ipv4") return address.toString();
  return address.toByteArray().slice(0, 8).join(":");
}

/** Connections in all, where the process may have only so many files and sockets. */
export function connectionsWithin(most: number, spareDescriptors: number | null): number {
  // The other half is for what the process opens itself: endpoints, brokers, files.
  if (spareDescriptors === null) return most;
  return Math.max(1, Math.min(most, Math.floor(spareDescriptors / 2)));
}
