/** The list `sources`: the origins of calls, and the destinations that these calls may reach. */

import type { Invalid, Place } from "../base/settings/config-path.ts";
import { flag, id, listOf, rate, secret } from "../base/settings/scalars.ts";
import { list, optional, required, section, setting } from "../base/settings/setting.ts";
import type { Source } from "../domain/destination.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";

const ANY_LENGTH = Number.POSITIVE_INFINITY;

const writeKey = secret("a write key");

const fields = {
  id: required(id<SourceId>(), "ID of the source, as in the header `source-id` of its calls."),
  writeKey: optional(writeKey, "Key that identifies the source of calls over HTTP."),
  writeKeys: optional(
    listOf(writeKey, "write keys", { min: 1, max: 100 }),
    "All write keys that are valid during a rotation. Set this instead of `writeKey`.",
  ),
  destinations: setting(
    listOf(id<DestinationId>(), "destination ids", { min: 0, max: ANY_LENGTH }),
    [],
    "IDs of the destinations that calls from this source may reach.",
  ),
  callsPerSecond: optional(
    rate(1_000_000),
    "Maximum number of calls per second over HTTP, for each process.",
  ),
  correctClock: setting(
    flag(),
    true,
    "If `true`, timestamps of calls over HTTP are corrected if the device's clock is wrong by " +
      "more than 30 s.",
  ),
};

export const sourceSettings = list(
  "Where calls come from. Each source has:",
  section("", fields, ({ writeKey: key, writeKeys: keys, ...rest }, place): Source | Invalid => {
    if (key !== null && keys !== null) return bothKeys(place);
    return { ...rest, writeKeys: keys ?? (key === null ? [] : [key]) };
  }),
  { min: 0, max: ANY_LENGTH },
);

function bothKeys(place: Place): Invalid {
  const hint = "move the key from writeKey to writeKeys";
  return place.fail("writeKey and writeKeys", "only one of them", hint);
}
