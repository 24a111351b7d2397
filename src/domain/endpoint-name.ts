/**
 * The name of an endpoint wherever people meet it: `crm-hook[1] crm.example.com`. It has the
 * destination, the endpoint's place in the configuration (the first is 1) and the host, with the
 * port where that is not the scheme's own. A path or a query may be secret and is left out.
 */

import type { AttemptedDestination } from "./destination.ts";
import type { EndpointKey } from "./ids.ts";

type Named = Pick<AttemptedDestination, "id" | "endpoints">;

/** By key, in the order of the configuration. */
export function endpointNames({ id, endpoints }: Named): ReadonlyMap<EndpointKey, string> {
  return new Map(endpoints.map(({ key, url }, at) => [key, `${id}[${at + 1}] ${hostOf(url)}`]));
}

/** With the key beside it; the key alone where the configuration has no such endpoint any more. */
export function endpointText(name: string | undefined, key: string): string {
  return name === undefined ? key : `${name} (${key})`;
}

/** An endpoint's key before its outcome, as in `switchyard-last-result`. */
const KEY_OF_OUTCOME = /\b[0-9a-f]{16}(?==)/g;

/** A sentence that says outcomes by key, with names in place of the keys. */
export function withEndpointNames(
  sentence: string,
  names: ReadonlyMap<string, string> | undefined,
): string {
  return sentence.replace(KEY_OF_OUTCOME, (key) => names?.get(key) ?? key);
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}
