/**
 * How endpoints are named, so that a name outlives the URL: a token in a URL is rotated, and a wrong URL is corrected.
 *
 *   name           consists of                                  used for
 *   endpoint ID    the endpoint's `id`, or else its position    logs, metrics, status, and news between processes
 *                  in the configuration, counted from 1
 *   name           destination, endpoint ID and host, such as   everything that a person reads, also in records
 *                  `crm-hook[1] crm.example.com`; the path
 *                  and the query may be secret
 *   reference      endpoint ID, hash of the URL, and the `id`   deliveries for one endpoint only: retries and dead
 *                  or else the hash of each other endpoint      letters of `deliver: every`; with a strict order, the
 *                                                               endpoints that have accepted a delivery
 *   hash           the start of the SHA-256 of the URL          what is known about the URL: its circuit, `Retry-After`,
 *                                                               results and rejections; a changed URL starts afresh
 *
 * The endpoint that a reference means is found in the current configuration. The first row that applies decides.
 *
 *   an endpoint                                                 the delivery is sent
 *   has the `id` of the reference                               to that endpoint
 *   has the URL of the reference, and was not another endpoint  to that endpoint
 *   has the position of the reference, and was not another      to that endpoint
 *   endpoint
 *   none                                                        nowhere: the endpoint was removed
 *
 * An endpoint was another one if the reference lists its `id` or its URL: it has had the call in a delivery of its own,
 * and must not get it twice. So without an `id`, a list may be reordered, shortened, or get other URLs, but an endpoint
 * that moves and gets another URL at the same time needs an `id`.
 */

import assert from "node:assert/strict";
import type { AttemptedDestination, Endpoint } from "./destination.ts";
import type { EndpointKey, EndpointRef } from "./ids.ts";

type Named = { readonly id: string } & Pick<AttemptedDestination, "endpoints">;

export interface EndpointName {
  /** The endpoint ID. */
  readonly id: string;
  readonly name: string;
  readonly ref: EndpointRef;
}

export type EndpointNames = ReadonlyMap<EndpointKey, EndpointName>;

export function endpointNames({ id: destination, endpoints }: Named): EndpointNames {
  return new Map(
    endpoints.map((endpoint) => {
      const id = endpointId(endpoint, endpoints);
      const name = `${destination}[${id}] ${URL.parse(endpoint.url)?.host ?? ""}`;
      return [endpoint.key, { id, name, ref: refTo(endpoint, endpoints) }];
    }),
  );
}

export function nameOf(key: EndpointKey, names: EndpointNames): EndpointName {
  const name = names.get(key);
  assert(name !== undefined);
  return name;
}

/** The hash of the URL instead of the position if the endpoint is not in the list. */
export function endpointId({ id, key }: Endpoint, endpoints: readonly Endpoint[]): string {
  const at = endpoints.findIndex((each) => each.key === key);
  return id ?? (at === -1 ? key : `${at + 1}`);
}

export function refTo(endpoint: Endpoint, endpoints: readonly Endpoint[]): EndpointRef {
  const id = endpointId(endpoint, endpoints);
  const others = endpoints.filter((each) => each !== endpoint).map((each) => each.id ?? each.key);
  return [id, endpoint.key, ...others].join() as EndpointRef;
}

/** A destination has at most five endpoints. Other programs can write references too. */
const REF_PARTS_MAX = 6;

/** The endpoint that the reference means; undefined if it was removed. */
export function endpointFor<E extends Endpoint>(
  ref: EndpointRef,
  endpoints: readonly E[],
): E | undefined {
  const [id, hash, ...others] = ref.split(",", REF_PARTS_MAX);
  const free = endpoints.filter(
    (each) => !others.includes(each.key) && !others.includes(each.id ?? each.key),
  );
  const placed = endpoints[Number(id) - 1];
  return (
    endpoints.find((each) => each.id === id) ??
    free.find((each) => each.key === hash) ??
    free.find((each) => each === placed)
  );
}

/** Why a delivery for this endpoint cannot be sent to another one. */
export function removedText(ref: EndpointRef | null, destination: string): string {
  const name = `${destination}[${endpointIdIn(ref)}]`;
  return `the endpoint ${name} was removed, and the other endpoints got their own deliveries of the call`;
}

/** Why a delivery that the other endpoints have accepted cannot be sent. */
export const OTHERS_REMOVED = "the endpoints that had not accepted it were removed";

/** The endpoint ID in a reference. */
export function endpointIdIn(ref: EndpointRef | null): string {
  return ref?.split(",", 1)[0] ?? "";
}
