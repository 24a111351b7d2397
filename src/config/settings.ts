/** Every setting there is. The reference page docs/configuration.md is generated from this. */

import { type Network, parseNetwork } from "../domain/addresses.ts";
import type { SourceId } from "../domain/ids.ts";
import { attemptsSettings } from "./attempts-settings.ts";
import { audienceDefaults, audienceSettings, audienceStage } from "./audience-settings.ts";
import { consoleSettings } from "./console-settings.ts";
import { value, wrong } from "./decoder.ts";
import { destinationSettings } from "./destination-settings.ts";
import { ingestSettings } from "./ingest-settings.ts";
import { kafkaSettings, logAttempts, logLevel } from "./kafka-settings.ts";
import { operatorEventsSettings } from "./operator-events-settings.ts";
import { certificateFile } from "./pem.ts";
import { ADMIN_PORT } from "./ports.ts";
import { registrySettings } from "./registry-settings.ts";
import { duration, flag, listenHost, listOf, oneOf, text, wholeNumber } from "./scalars.ts";
import { optional, section, setting } from "./setting.ts";
import { id, sourceSettings } from "./source-settings.ts";
import { tracingSettings } from "./tracing-settings.ts";

const HOUR_MS = 3_600_000;
/** Given with the project: failures are tried again for at most 4 hours. */
const WINDOW_MAX_MS = 4 * HOUR_MS;
/** Given with the project: a response must arrive within 5 seconds. */
const TIMEOUT_MAX_MS = 5_000;
const DELAYS_MAX = 50;

const network = text<Network>("a network such as 127.0.0.0/8 or fd00::/8", (given) => {
  const parsed = parseNetwork(given);
  return parsed === null ? wrong() : value(parsed);
});

export const SETTINGS = section("", {
  kafka: kafkaSettings,
  registry: registrySettings,
  sources: sourceSettings,
  defaultSource: optional(
    id<SourceId>(),
    "The source of calls that name none. Left out: such calls are dead letters.",
  ),
  destinations: destinationSettings,
  audiences: audienceSettings,
  audienceDefaults,
  audience: audienceStage,
  delivery: section("How webhooks are sent and tried again.", {
    timeout: setting(
      duration(1, TIMEOUT_MAX_MS),
      "5s",
      "From handing a request to a connection until the response has arrived whole.",
    ),
    retryWindow: setting(
      duration(1, WINDOW_MAX_MS),
      "4h",
      "How long after its first attempt a delivery is tried again.",
    ),
    retryDelays: setting(
      listOf(duration(1, WINDOW_MAX_MS), "durations, none shorter than the one before it", {
        min: 1,
        max: DELAYS_MAX,
      }),
      ["10s", "30s", "2m", "5m", "15m", "30m", "60m"],
      "Waits before the next attempts; the last one repeats until the window ends. Each has a delay topic.",
    ),
    allowNetworks: setting(
      listOf(network, "networks such as 127.0.0.0/8", { min: 0, max: 1_000 }),
      [],
      "Private networks that webhooks may be sent to. All others are refused.",
    ),
    ca: optional(
      certificateFile,
      "Certificates of a private CA, trusted beside the public roots for every destination.",
    ),
  }),
  ingest: ingestSettings,
  admin: section("The port for metrics and health.", {
    host: setting(
      listenHost,
      "::",
      "Where it listens. `::` stands for all addresses, IPv6 and IPv4.",
    ),
    port: setting(wholeNumber(0, 65_535), ADMIN_PORT, "0: any free port."),
    reload: setting(
      flag(),
      false,
      "Whether `POST /-/reload` reads the configuration again. The port asks nobody for a password.",
    ),
  }),
  console: consoleSettings,
  metrics: section("The metrics on the admin port.", {
    destinations: setting(
      oneOf("full", "counts", "top"),
      "full",
      "Histograms by destination: of each one (`full`), one over all (`counts`), or those of the busiest and the most failing destinations (`top`). Counters and gauges are by destination in any case; of waiting deliveries only the 50 destinations with the most, unless it is `full`.",
    ),
  }),
  attempts: attemptsSettings,
  operatorEvents: operatorEventsSettings,
  tracing: tracingSettings,
  log: section("Log lines on standard output.", {
    level: setting(logLevel, "info", "The least important level that is written."),
    attempts: setting(
      logAttempts,
      "all",
      "Of accepted attempts, the lines that are written: `all`, `failures` for none of them, or an even share. Failures are always written.",
    ),
  }),
});
