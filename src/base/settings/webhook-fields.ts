/**
 * Decodes the static headers of an endpoint, which must be valid in HTTP, and must not be headers that Switchyard sets
 * itself.
 *
 *   name                                                    rejected because
 *   host, connection, content-length, transfer-encoding     HTTP clients set them
 *   keep-alive, upgrade, expect, te, trailer, proxy-*       they concern one connection
 *   user-agent, content-type, x-signature                   every webhook sets them
 *   x-switchyard-*                                          reserved for Switchyard
 *   webhook-*, with standardWebhooks                        checked with the destination's settings
 *   two names that differ only in letter case               the receiver cannot distinguish them
 *
 * Letter case is ignored when names are compared. All values are treated as secrets.
 */

import { isJsonObject } from "../../domain/json.ts";
import { allValid, type Invalid, type Place } from "./config-path.ts";
import { type Decoder, decoderOf } from "./decoder.ts";
import { HIDDEN, kindOf } from "./problem.ts";

type Header = readonly [name: string, value: string];

const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const PER_CONNECTION =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect|te|trailer|proxy-.*)$/;
const OURS = /^(?:user-agent|content-type|x-signature|x-switchyard-.*)$/;

const EXPECTED = "a map of header names to strings";

/** Decodes a map of names to secret strings. */
export function secretMap<Entry>(
  expected: string,
  decodeEntries: (
    entries: readonly (readonly [string, unknown])[],
    place: Place,
  ) => (Entry | Invalid)[],
): Decoder<readonly Entry[]> {
  return decoderOf({
    expected,
    show: (raw) =>
      isJsonObject(raw)
        ? Object.fromEntries(Object.keys(raw).map((name) => [name, HIDDEN]))
        : HIDDEN,
    json: { type: "object", additionalProperties: { type: "string" } },
    decode: (raw, place) => {
      if (!isJsonObject(raw)) return place.fail(kindOf(raw), expected);
      return allValid(decodeEntries(Object.entries(raw), place));
    },
  });
}

export const staticHeaders = secretMap<Header>(EXPECTED, (entries, place) => {
  const seen = new Set<string>();
  return entries.map(([name, given]) => {
    const lower = name.toLowerCase();
    const header = readHeader(name, given, seen.has(lower), place.child(name));
    seen.add(lower);
    return header;
  });
});

function readHeader(
  name: string,
  given: unknown,
  isRepeated: boolean,
  place: Place,
): Header | Invalid {
  const lower = name.toLowerCase();
  const fail = (found: string, expected: string, hint: string | null): Invalid =>
    place.fail(found, expected, hint);
  if (!NAME.test(name)) {
    return fail("a header name that HTTP does not allow", "letters, digits and dashes", null);
  }
  if (PER_CONNECTION.test(lower)) {
    return fail("a header of the connection", "a header that may be added", "remove it");
  }
  if (OURS.test(lower)) {
    return fail("a header that Switchyard sets itself", "a header that may be added", "remove it");
  }
  if (isRepeated) {
    return fail("the same header in another letter case", "every header at most once", null);
  }
  if (typeof given !== "string") {
    return fail(kindOf(given), "a string", "put the value in quotes");
  }
  if (!VALUE.test(given)) {
    const expected = "visible ASCII characters, with spaces only between them";
    return fail("a value that HTTP does not allow", expected, "percent-encode other characters");
  }
  return [name, given];
}

/** The key's bytes in base64, padded or not. */
const STANDARD_SECRET =
  /^whsec_(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=?|[A-Za-z\d+/]{2}(?:==)?)$/;

/** Reports a secret that a library for Standard Webhooks would read in another way than Switchyard. */
export function checkStandardSecrets(
  secrets: Readonly<Record<"sharedSecret" | "previousSharedSecret", string | null>>,
  place: Place,
): Invalid | null {
  let invalid: Invalid | null = null;
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret === null || !secret.startsWith("whsec_") || STANDARD_SECRET.test(secret)) continue;
    const expected = "base64 after whsec_, as Standard Webhooks defines it";
    invalid = place.child(name).fail("whsec_ followed by something other than base64", expected);
  }
  return invalid;
}
