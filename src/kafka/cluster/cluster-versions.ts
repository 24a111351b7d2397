/**
 * Compares the request versions that Switchyard sends with the versions that the brokers of a cluster accept.
 *
 *   a request                                           is
 *   has no version that every broker accepts            `none`
 *   is sent in the lowest version that all brokers      `near`
 *   accept, or the one above it, although they accept
 *   newer ones, which cannot be sent
 *   any other                                           `ok`
 */

import { asError } from "../../base/runtime/as-error.ts";
import { hostAndPort } from "../../base/runtime/listening.ts";
import { type BrokerVersions, highestCommon, type RequestKind } from "../broker/request-version.ts";
import { SENT_REQUESTS } from "../broker/requests.ts";
import type { ClusterVersions, RequestVersions, VersionRange } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { ANY_TOPIC } from "./wait-for-brokers.ts";

/** How far above the lowest accepted version a version still counts as near. */
const NEAR = 1;

/** Compares the versions of all brokers that respond. */
export async function clusterVersions(brokers: Brokers): Promise<ClusterVersions> {
  const { brokers: known } = await brokers.metadata([ANY_TOPIC]);
  const found = await Promise.all(
    known.map(async ({ nodeId, host, port }) => {
      const named = { nodeId, address: hostAndPort(host, port) };
      try {
        const { versions } = await brokers.leader(nodeId);
        return { ...named, error: null, versions };
      } catch (error) {
        return { ...named, error: asError(error).message, versions: null };
      }
    }),
  );
  const accepted = found.flatMap(({ versions }) => (versions === null ? [] : [versions]));
  return {
    brokers: found
      .map(({ nodeId, address, error }) => ({ nodeId, address, error }))
      .sort((one, other) => one.nodeId - other.nodeId),
    requests: SENT_REQUESTS.map((kind) => compared(kind, accepted)),
  };
}

/** @param brokers at least one broker, each with the versions that it accepts. */
export function compared(
  { apiKey, apiName: request, versions }: RequestKind,
  brokers: readonly BrokerVersions[],
): RequestVersions {
  const known = { min: Math.min(...versions), max: Math.max(...versions) };
  const ofEach = brokers.map((broker) => highestCommon(versions, broker[apiKey]));
  const sent = [...new Set(ofEach)].filter((version) => version !== null);
  const accepted = acceptedByAll(brokers.map((broker) => broker[apiKey]));
  if (sent.length === 0 || ofEach.includes(null)) {
    return { request, known, accepted, sent: [], state: "none" };
  }
  const isNear = accepted !== null && Math.min(...sent) - accepted.min <= NEAR;
  const isBehind = accepted !== null && accepted.max > known.max;
  const state = isNear && isBehind ? "near" : "ok";
  return { request, known, accepted, sent: sent.sort((one, other) => one - other), state };
}

function acceptedByAll(
  ranges: readonly (BrokerVersions[number] | undefined)[],
): VersionRange | null {
  const known = ranges.filter((range) => range !== undefined);
  if (known.length === 0 || known.length < ranges.length) return null;
  const min = Math.max(...known.map(({ minVersion }) => minVersion));
  const max = Math.min(...known.map(({ maxVersion }) => maxVersion));
  return min > max ? null : { min, max };
}
