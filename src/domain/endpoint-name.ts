/**
 * Creates the name by which an endpoint is shown everywhere, such as `crm-hook[1] crm.example.com`. It consists of
 * the destination, the endpoint's position in the configuration, counted from 1, and the host. The port is included
 * unless it is the scheme's default. The path and the query are omitted, because they may be secret.
 */

import type { AttemptedDestination } from "./destination.ts";
import type { EndpointKey } from "./ids.ts";

type Named = Pick<AttemptedDestination, "id" | "endpoints">;

export function endpointNames({ id, endpoints }: Named): ReadonlyMap<EndpointKey, string> {
  return new Map(endpoints.map(({ key, url }, at) => [key, `${id}[${at + 1}] ${hostOf(url)}`]));
}

/** The name and the key; only the key if the endpoint is no longer configured. */
export function endpointText(name: string | undefined, key: string): string {
  return name === undefined ? key : `${name} (${key})`;
}

/** Matches an endpoint's key that is followed by a result, as in `switchyard-last-result`. */
const KEY_OF_OUTCOME = /\b[0-9a-f]{16}(?==)/g;

/** Replaces the endpoint keys in a sentence about results with the endpoints' names. */
export function withEndpointNames(
  sentence: string,
  names: ReadonlyMap<string, string> | undefined,
): string {
  return sentence.replace(KEY_OF_OUTCOME, (key) => names?.get(key) ?? key);
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}
