/**
 * The name of an endpoint wherever it is shown: `crm-hook[1] crm.example.com`. It consists of the destination, the
 * endpoint's position in the configuration (the first is 1) and the host, with the port if that is not the scheme's
 * default. A path or a query may be secret and is omitted.
 */

import type { AttemptedDestination } from "./destination.ts";
import type { EndpointKey } from "./ids.ts";

type Named = Pick<AttemptedDestination, "id" | "endpoints">;

/** The names by endpoint key, in the order of the configuration. */
export function endpointNames({ id, endpoints }: Named): ReadonlyMap<EndpointKey, string> {
  return new Map(endpoints.map(({ key, url }, at) => [key, `${id}[${at + 1}] ${hostOf(url)}`]));
}

/** The name and the key; the key alone if the configuration no longer has such an endpoint. */
export function endpointText(name: string | undefined, key: string): string {
  return name === undefined ? key : `${name} (${key})`;
}

/** An endpoint's key before its result, as in `switchyard-last-result`. */
const KEY_OF_OUTCOME = /\b[0-9a-f]{16}(?==)/g;

/** In a sentence about results, replaces endpoint keys with names. */
export function withEndpointNames(
  sentence: string,
  names: ReadonlyMap<string, string> | undefined,
): string {
  return sentence.replace(KEY_OF_OUTCOME, (key) => names?.get(key) ?? key);
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}
