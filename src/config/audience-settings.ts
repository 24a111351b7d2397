/**
 * Settings of audiences, the defaults for settings that an audience does not set, and the folder in which the stage
 * keeps its state.
 */

import { type Decoder, decoder, value, wrong } from "../base/settings/decoder.ts";
import { id, share, text, textLike, wholeNumber } from "../base/settings/scalars.ts";
import { list, optional, required, section, setting } from "../base/settings/setting.ts";
import type { AudienceOptions, ConfiguredAudience } from "../domain/audience.ts";
import type { SourceId } from "../domain/ids.ts";
import { isJsonObject, type JsonObject } from "../domain/json.ts";
import { audienceConsent } from "../router/rules/settings/rules-settings.ts";

const ID_MAX_BYTES = 1_024;

const audienceId = text(`a string of at most ${ID_MAX_BYTES} bytes`, (given) =>
  given !== "" && Buffer.byteLength(given) <= ID_MAX_BYTES ? value(given) : wrong(),
);

const integrations: Decoder<JsonObject> = decoder({
  expected: "a map of integration names to true, false or options",
  json: { type: "object", additionalProperties: { type: ["boolean", "object", "string"] } },
  fromText: (given) => {
    try {
      return JSON.parse(given) as unknown;
    } catch {
      return given;
    }
  },
  test: (raw) => {
    if (!isJsonObject(raw)) return wrong("write { All: false, Webhooks: true }");
    const isFit = Object.values(raw).every(
      (flag) => typeof flag === "boolean" || isJsonObject(flag),
    );
    return isFit ? value(raw) : wrong("set each name to true, false or a map of options");
  },
});

const options = {
  source: optional(id<SourceId>(), "The source of the calls."),
  integrations: optional(integrations, "The `integrations` of the calls."),
  consent: optional(audienceConsent, "Consent object of the calls."),
  approvalShare: optional(
    share(),
    "Share of the members that a sync may remove without approval. An empty sync also needs " +
      "approval. If not set, no sync does.",
  ),
  approvalMinimum: optional(
    wholeNumber(0, 1_000_000_000),
    "Number of members that a sync may remove without approval, however large their share. If not set, 100.",
  ),
};

export const audienceSettings = list(
  "Audiences with settings of their own. Other audiences do not have to be listed. Each has:",
  section(
    "",
    {
      id: required(audienceId, "ID of the audience, as in its syncs."),
      key: optional(
        textLike("a trait's name", /./s),
        "Name of the trait, instead of the audience's name in snake_case. Fixed at the first sync.",
      ),
      ...options,
    },
    (values): ConfiguredAudience => values,
  ),
  { min: 0, max: Number.POSITIVE_INFINITY },
);

export const audienceDefaults = section(
  "Defaults for audiences, and the settings of computed traits.",
  options,
  (values): AudienceOptions => values,
);

export const audienceStage = section("The audience stage.", {
  stateDir: setting(
    textLike("a directory", /./s),
    "./state",
    "Directory for memberships, relative to the configuration file. If it is lost, its content " +
      "is rebuilt from Kafka.",
  ),
});
