/** Declares all settings. The reference page docs/configuration.md is generated from this file. */

import { type Decoder, hidden, type Tested, value, wrong } from "../base/settings/decoder.ts";
import { proxyUrl, webUrl } from "../base/settings/endpoint-url.ts";
import { certificateFile } from "../base/settings/pem.ts";
import {
  duration,
  flag,
  id,
  listenHost,
  listOf,
  oneOf,
  secret,
  size,
  testShare,
  text,
  textLike,
  wholeNumber,
} from "../base/settings/scalars.ts";
import {
  list,
  optional,
  optionalSection,
  required,
  section,
  setting,
  variants,
} from "../base/settings/setting.ts";
import { checkStandardSecrets, staticHeaders } from "../base/settings/webhook-fields.ts";
import { ADMIN_ADDRESS, type Network, parseNetwork } from "../domain/addresses.ts";
import type { SourceId } from "../domain/ids.ts";
import { TYPE_SETTINGS } from "../router/destinations/index.ts";
import { audienceDefaults, audienceSettings, audienceStage } from "./audience-settings.ts";
import { ingestSettings } from "./ingest-settings.ts";
import { kafkaSettings, logAttempts, logLevel } from "./kafka-settings.ts";
import { registrySettings } from "./registry-settings.ts";
import { sourceSettings } from "./source-settings.ts";

/** The ports that the program opens by default. `INGEST_PORT` is in `ingest-settings.ts`. */
export const ADMIN_PORT = 9_464;
export const CONSOLE_PORT = 9_465;

const HOUR_MS = 3_600_000;

const operatorWebhook = section(
  "Also posts each event to a webhook. See [The operator's webhook](monitor.md#the-operators-webhook).",
  {
    url: required(
      webUrl("a complete http or https URL such as https://pager.example.com/hook"),
      "URL to which events are posted, as CloudEvents in JSON.",
    ),
    headers: setting(staticHeaders, {}, "Static headers of each request."),
    sharedSecret: optional(
      secret("a string that is not empty"),
      "Secret that signs each event, in `X-Signature` and the headers of Standard Webhooks.",
    ),
    previousSharedSecret: optional(
      secret("a string that is not empty"),
      "The previous secret during a rotation, for Standard Webhooks only.",
    ),
  },
  (values, place) => {
    const { headers, sharedSecret, previousSharedSecret } = values;
    const own = headers.find(([name]) => /^webhook-/i.test(name));
    if (own !== undefined) {
      const found = "a header of Standard Webhooks, which Switchyard adds to events";
      const header = place.child("headers").child(own[0]);
      return header.fail(found, "a header that may be added", "remove it");
    }
    return checkStandardSecrets({ sharedSecret, previousSharedSecret }, place) ?? values;
  },
);

/** A topic and a webhook for operator events. Each is used only if it is configured. */
const operatorEventsSettings = section(
  "Events for operators, such as a failing destination. See [Operator events](monitor.md#operator-events).",
  {
    enabled: setting(
      flag(),
      false,
      "If `true`, operator events are written to the topic `operator-events`.",
    ),
    webhook: optionalSection(operatorWebhook, false),
  },
  (values, place) => {
    if (values.webhook === null || values.enabled) return values;
    const expected = "true, because the webhook sends what is written to the topic";
    return place.child("enabled").fail("false, with a webhook", expected);
  },
);

const TOKEN_MIN = 16;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

const consoleToken: Decoder<string> = text(
  `a string of at least ${TOKEN_MIN} characters without spaces`,
  (given) => {
    if (/^[\x21-\x7e]{16,256}$/.test(given)) return value(given);
    return wrong("to create one, run `openssl rand -hex 32`");
  },
  hidden,
);

const adminAddress = textLike("an admin port such as host-1:9464", ADMIN_ADDRESS);

const consoleSettings = section(
  "The console is served by `switchyard console`, and by `run` if `console` is among its stages. See [The console](console.md).",
  {
    host: setting(
      listenHost,
      "127.0.0.1",
      "Address to listen on. An address that other machines can reach requires a token.",
    ),
    port: setting(
      wholeNumber(0, 65_535),
      CONSOLE_PORT,
      "Port to listen on. 0 selects any free port.",
    ),
    token: optional(consoleToken, "Token with which users sign in."),
    readOnly: setting(
      flag(),
      true,
      "If `false`, anyone who can open the console can also pause, resume, retry, cancel, " +
        "replay and approve.",
    ),
    showPayloads: setting(
      flag(),
      false,
      "If `true`, payloads, event names and the start of responses are shown, which contain your users' data.",
    ),
    adminAddresses: setting(
      listOf(adminAddress, "admin ports such as host-1:9464", { min: 0, max: 1_000 }),
      [],
      "Admin ports of the processes, for the console and `switchyard status`. In the console of `switchyard run`, its own is added.",
    ),
  },
  /**
   *   the console listens on               a token is
   *   127.0.0.1, ::1, localhost            required if one is set
   *   any other address                    required
   */
  (values, place) => {
    if (LOOPBACK.test(values.host) || values.token !== null) return values;
    const found = `no value, although the host is ${values.host}`;
    const expected = "a token, because other machines can reach the console";
    const hint = "set it from a variable or a file, or listen on 127.0.0.1";
    return place.child("token").fail(found, expected, hint);
  },
);

const tracingSettings = optionalSection(
  section(
    "OpenTelemetry traces. See [Traces](monitor.md#traces). If not set, no traces are exported.",
    {
      url: required(
        webUrl("a complete http or https URL"),
        "URL to which spans are posted in OTLP (protobuf over HTTP), such as " +
          "`http://collector:4318/v1/traces`.",
      ),
      headers: setting(staticHeaders, {}, "Headers of these requests, such as an API key."),
      sampleRatio: setting(
        text<number>("a share such as 1%", testShare),
        "1%",
        "Share of traces to keep, among those that start in Switchyard.",
      ),
      parentBased: setting(
        flag(),
        false,
        "If `true`, the header `traceparent` of calls over HTTP decides whether a trace is kept. " +
          "Do not use `true` on a public port.",
      ),
      serviceName: setting(
        textLike("a name", /^\S.*$/),
        "switchyard",
        "Name of the service. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence.",
      ),
    },
  ),
  false,
);

/** The responses of five endpoints, as JSON, must fit into a record of 1 MiB. */
const RESPONSES_MAX_BYTES = 16 * 1_024;

const attemptsSettings = section(
  "The topic `attempts`, from which `switchyard timeline` reads the attempts of a call. See [Attempts](topics.md#attempts).",
  {
    enabled: setting(
      flag(),
      false,
      "If `true`, the deliver stage writes a record for each attempt.",
    ),
    retention: setting(
      duration(HOUR_MS, 90 * 24 * HOUR_MS),
      "3d",
      "Time for which Kafka keeps these records.",
    ),
    responseBytes: optional(
      size(1, RESPONSES_MAX_BYTES),
      "How much of an unsuccessful response's body is kept, which may repeat data from the " +
        "request.",
    ),
  },
);

/** A fixed limit: failures are retried for at most 4 hours. */
const WINDOW_MAX_MS = 4 * HOUR_MS;
/** A fixed limit: a response must arrive within 5 seconds. */
const TIMEOUT_MAX_MS = 5_000;
const DELAYS_MAX = 50;

const network = text<Network>("a network such as 127.0.0.0/8 or fd00::/8", (given) => {
  const parsed = parseNetwork(given);
  return parsed === null ? wrong() : value(parsed);
});

function testPattern(given: string): Tested<string> {
  if (given.includes("${")) return wrong("write the path without variables");
  if (/[*?].*\//.test(given)) return wrong("use * and ? only in the file name");
  return given === "" ? wrong() : value(given);
}

export const SETTINGS = section("", {
  kafka: kafkaSettings,
  registry: registrySettings,
  sources: sourceSettings,
  defaultSource: optional(
    id<SourceId>(),
    "Source of calls that do not name one. If not set, such calls become dead letters.",
  ),
  destinations: list(
    "Where calls go. Each destination has:",
    variants(
      "",
      "type",
      "`webhook` is delivered by Switchyard; `topic` is read by other consumers.",
      TYPE_SETTINGS,
    ),
    { min: 0, max: Number.POSITIVE_INFINITY },
  ),
  consent: section("Consent of the users. See [Consent](rules.md#consent).", {
    required: setting(
      flag(),
      false,
      "If `true`, calls without a consent object are not routed to destinations with consent " +
        "categories.",
    ),
  }),
  audiences: audienceSettings,
  include: setting(
    listOf(
      text("a path or a pattern such as destinations/*.yaml", testPattern),
      "paths or patterns",
      {
        min: 0,
        max: 100,
      },
    ),
    [],
    "Files with further `sources`, `destinations` and `audiences`. `*` and `?` match " +
      "characters in file names.",
  ),
  audienceDefaults,
  audience: audienceStage,
  delivery: section("How webhooks are sent and retried.", {
    timeout: setting(
      duration(1, TIMEOUT_MAX_MS),
      "5s",
      "Maximum time for a request, from the connection to the complete response.",
    ),
    retryWindow: setting(
      duration(1, WINDOW_MAX_MS),
      "4h",
      "Time for which a delivery is retried, measured from its first attempt.",
    ),
    retryDelays: setting(
      listOf(duration(1, WINDOW_MAX_MS), "durations, each at least as long as the previous one", {
        min: 1,
        max: DELAYS_MAX,
      }),
      ["10s", "30s", "2m", "5m", "15m", "30m", "60m"],
      "Delay before each retry. The last one repeats until the retry window ends.",
    ),
    allowNetworks: setting(
      listOf(network, "networks such as 127.0.0.0/8", { min: 0, max: 1_000 }),
      [],
      "Private networks that webhooks may be sent to. All others are blocked.",
    ),
    connectionMaxAge: setting(
      duration(1_000, 86_400_000),
      "1m",
      "Age from which a connection is not used for another request, so that a new address or certificate is noticed.",
    ),
    ca: optional(certificateFile, "Certificates of a private CA, for every destination."),
    proxy: optional(
      proxyUrl("a URL with a port such as http://proxy.example.com:3128"),
      "Forward proxy through which all webhooks are sent, with CONNECT. A user name and a password in it must be " +
        "percent-encoded. See [Forward proxy](retries.md#forward-proxy).",
    ),
    proxyCa: optional(certificateFile, "Certificates of a private CA, for proxies with `https`."),
  }),
  ingest: ingestSettings,
  admin: section("The port for metrics and health.", {
    host: setting(
      listenHost,
      "::",
      "Address to listen on. `::` means all addresses, IPv6 and IPv4.",
    ),
    port: setting(
      wholeNumber(0, 65_535),
      ADMIN_PORT,
      "Port to listen on. 0 selects any free port.",
    ),
    reload: setting(
      flag(),
      false,
      "If `true`, `POST /-/reload` reloads the configuration. The port does not require authentication.",
    ),
  }),
  console: consoleSettings,
  metrics: section("The metrics on the admin port.", {
    destinations: setting(
      oneOf("full", "counts", "top"),
      "full",
      "Destinations with their own histograms: all (`full`), none (`counts`), or the busiest and " +
        "most often failing (`top`). See [Many destinations](monitor.md#many-destinations).",
    ),
  }),
  attempts: attemptsSettings,
  audit: section(
    "The topic `ledger`, from which `switchyard audit` adds up what became of each call. See [Audit](guarantees.md#audit).",
    {
      enabled: setting(
        flag(),
        true,
        "If `true`, stages write to the topic before they commit offsets.",
      ),
    },
  ),
  operatorEvents: operatorEventsSettings,
  tracing: tracingSettings,
  log: section("Log lines on standard output.", {
    level: setting(logLevel, "info", "Lowest level that is logged."),
    attempts: setting(
      logAttempts,
      "all",
      "Which accepted attempts are logged: `all`, none (`failures`), or an evenly spread " +
        "share. Failed attempts are always logged.",
    ),
  }),
});
