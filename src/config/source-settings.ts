/** The list `sources`: where calls come from, and which destinations they may reach. */

import type { Source } from "../domain/destination.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { Invalid, Place } from "./config-path.ts";
import { type Decoder, value, wrong } from "./decoder.ts";
import { flag, listOf, rate, secret, text } from "./scalars.ts";
import { list, optional, required, section, setting } from "./setting.ts";

const ID_CHARACTERS_MAX = 200;
const ANY_LENGTH = Number.POSITIVE_INFINITY;

/** The ids of sources and destinations. */
export function id<Id extends string>(): Decoder<Id> {
  return text(`lower-case letters, digits and dashes, at most ${ID_CHARACTERS_MAX}`, (given) => {
    return /^[a-z\d-]+$/.test(given) && given.length <= ID_CHARACTERS_MAX
      ? value(given as Id)
      : wrong();
  });
}

const writeKey = secret("a write key");

const fields = {
  id: required(id<SourceId>(), "Names the source; calls carry it in the header `source-id`."),
  writeKey: optional(writeKey, "Lets in calls over HTTP, and names the source of a call."),
  writeKeys: optional(
    listOf(writeKey, "write keys", { min: 1, max: 100 }),
    "Several, while one takes the place of another. In place of `writeKey`.",
  ),
  destinations: setting(
    listOf(id<DestinationId>(), "destination ids", { min: 0, max: ANY_LENGTH }),
    [],
    "Destinations that calls of this source may reach, by id.",
  ),
  callsPerSecond: optional(rate(1_000_000), "Most calls a second over HTTP; left out: no limit."),
  correctClock: setting(
    flag(),
    true,
    "If `true`, the timestamp of a call received over HTTP moves by the error of the device's clock, if `sentAt` shows one of more than 30 s.",
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
  const hint = "put the key of writeKey into the list writeKeys";
  return place.fail({ found: "writeKey and writeKeys", expected: "one of the two", hint });
}
