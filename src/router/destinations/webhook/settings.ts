/** Declares the settings of a webhook destination. */

import type { TlsFiles } from "../../../base/http/tls.ts";
import { asError } from "../../../base/runtime/as-error.ts";
import type { Invalid, Place } from "../../../base/settings/config-path.ts";
import type { Decoder } from "../../../base/settings/decoder.ts";
import { proxyUrl, webUrl } from "../../../base/settings/endpoint-url.ts";
import { tlsFiles } from "../../../base/settings/pem.ts";
import {
  duration,
  flag,
  oneOf,
  secret,
  size,
  textLike,
  wholeNumber,
} from "../../../base/settings/scalars.ts";
import {
  list,
  optional,
  optionalSection,
  required,
  type Section,
  section,
  setting,
  type Values,
} from "../../../base/settings/setting.ts";
import { checkStandardSecrets, staticHeaders } from "../../../base/settings/webhook-fields.ts";
import {
  type AttemptedDestination,
  type Endpoint,
  endpointKey,
} from "../../../domain/destination.ts";
import {
  attemptSettings,
  checkOrder,
  commonSettings,
  idSetting,
  integrationName,
} from "../common-settings.ts";
import type { Header, UnitLimits } from "../port.ts";
import { authSetting, type WebhookAuth } from "./auth-settings.ts";
import { signingKey } from "./signing-key.ts";

export interface WebhookEndpoint extends Endpoint {
  /** Static headers in the order of the configuration. Values may be secret. */
  readonly headers: readonly Header[];
}

export interface WebhookDestination extends AttemptedDestination {
  /** Secret, and never empty. Null if requests have no `X-Signature`. */
  readonly sharedSecret: string | null;
  /** During a rotation, the previous secret. Used only for Standard Webhooks. */
  readonly previousSharedSecret: string | null;
  /** Private key of Ed25519 (`signing-key.ts`), for Standard Webhooks only. */
  readonly signingKey: string | null;
  /** During a rotation, the previous key. */
  readonly previousSigningKey: string | null;
  /** 1 to 5 endpoints with http or https URLs. Each URL appears only once. */
  readonly endpoints: readonly WebhookEndpoint[];
  readonly payload: "standard" | "full";
  readonly messageIdHeader: boolean;
  readonly attemptHeader: boolean;
  readonly standardWebhooks: boolean;
  /** Null if each request has one call. */
  readonly batch: Batch | null;
  /** Null if requests are not authenticated. */
  readonly auth: WebhookAuth | null;
  /** A client certificate (mTLS) and a private CA for this destination, as PEM strings; null if there are none. */
  readonly tls: TlsFiles | null;
  /** The URL of a forward proxy, which may contain a password, or `none`; null for that of all webhooks. */
  readonly proxy: string | null;
}

const NO_PROXY = "none";

/** The URL of the proxy for a destination; null if there is none. @param common the proxy of all webhooks. */
export function proxyUrlOf(
  { proxy }: Pick<WebhookDestination, "proxy">,
  common: string | null,
): string | null {
  return proxy === NO_PROXY ? null : (proxy ?? common);
}

/** How calls are combined into requests. */
export interface Batch extends UnitLimits {
  readonly format: "array" | "ndjson";
  readonly responses: "whole" | "each";
}

const batchSettings: Section<Batch> = section("Sends several calls in each request.", {
  calls: setting(wholeNumber(2, 1_000), 100, "Maximum number of calls in a request."),
  bytes: setting(
    size(1_024, 8 * 1_048_576),
    "512KiB",
    "Maximum size of a body. A larger call is sent alone.",
  ),
  wait: setting(
    duration(1, 10_000),
    "250ms",
    "Time from the arrival of the first call after which a batch that is not full is sent.",
  ),
  format: setting(
    oneOf("array", "ndjson"),
    "array",
    "Format of the body: a JSON array, or one call per line.",
  ),
  responses: setting(
    oneOf("whole", "each"),
    "whole",
    "Which calls count as accepted after a 2xx response: all (`whole`), or only those that its " +
      "body lists as accepted (`each`).",
  ),
});

const ENDPOINTS = { min: 1, max: 5 };
/** Positions are also endpoint IDs, so an `id` is never a number. */
const endpointId = textLike(
  "at most 64 lower-case letters, digits and dashes, of which the first is a letter",
  /^[a-z][a-z\d-]{0,63}$/,
);
const endpoint = section(
  "",
  {
    id: optional(
      endpointId,
      "ID of the endpoint, unique in the destination, which stays the same if the URL or the order of the list " +
        "changes. Without it, the endpoint is identified by its position.",
    ),
    url: required(
      webUrl("a complete http or https URL such as https://crm.example.com/hook"),
      "URL to which webhooks are posted.",
    ),
    headers: setting(staticHeaders, {}, "Static headers of each request."),
  },
  ({ id, url, headers }): WebhookEndpoint => ({
    ...(id === null ? {} : { id }),
    key: endpointKey(url),
    url,
    headers,
  }),
);

/** Whitespace around a key does not count, so it needs no warning. */
const anyKey = secret("a private key of Ed25519: PEM, or whsk_ followed by base64");
const signingKeyText: Decoder<string> = {
  ...anyKey,
  decode: (raw, place) => {
    const text = anyKey.decode(typeof raw === "string" ? raw.trim() : raw, place);
    if (typeof text !== "string") return text;
    try {
      signingKey(text);
      return text;
    } catch (error) {
      return place.fail(asError(error).message, anyKey.expected);
    }
  },
};

const ownProxy = proxyUrl("a URL with a port such as http://proxy.example.com:3128, or none");
const proxyOrNone: Decoder<string> = {
  ...ownProxy,
  show: (raw) => (raw === NO_PROXY ? raw : ownProxy.show(raw)),
  decode: (raw, place) => (raw === NO_PROXY ? raw : ownProxy.decode(raw, place)),
};

const webhookFields = {
  id: idSetting,
  name: setting(
    integrationName,
    "Webhooks",
    "Name of the destination in the `integrations` of calls. Case-sensitive.",
  ),
  ...commonSettings,
  sharedSecret: optional(
    secret("a string that is not empty"),
    "Secret with which each body is signed (`X-Signature`).",
  ),
  previousSharedSecret: optional(
    secret("a string that is not empty"),
    "Previous secret during a rotation, for Standard Webhooks only.",
  ),
  signingKey: optional(
    signingKeyText,
    "Private key of Ed25519, as PEM or `whsk_` and base64, with which receivers that only have the public key can " +
      "verify requests. Requires `standardWebhooks`.",
  ),
  previousSigningKey: optional(signingKeyText, "Previous signing key during a rotation."),
  endpoints: list("Endpoints, each with its own URL.", endpoint, ENDPOINTS),
  payload: setting(
    oneOf("standard", "full"),
    "standard",
    "Fields of the body: those of the call's type (`standard`), or all of the call (`full`).",
  ),
  deliver: setting(
    oneOf("any", "every"),
    "any",
    "How many endpoints must accept a call: one (`any`) or all (`every`).",
  ),
  ...attemptSettings,
  messageIdHeader: setting(
    flag(),
    true,
    "If `true`, requests have the header `X-Switchyard-Message-Id`, by which receivers detect duplicates.",
  ),
  attemptHeader: setting(
    flag(),
    false,
    "If `true`, requests have the header `X-Switchyard-Attempt`.",
  ),
  traceparent: setting(
    flag(),
    false,
    "If `true`, requests have the header `traceparent` if the call's trace is known.",
  ),
  standardWebhooks: setting(
    flag(),
    false,
    "If `true`, requests have the headers of Standard Webhooks. Requires `sharedSecret` or `signingKey`.",
  ),
  batch: optionalSection(batchSettings, false),
  auth: authSetting,
  tls: optionalSection(
    tlsFiles("TLS files for the connections to this destination's endpoints."),
    false,
  ),
  proxy: optional(
    proxyOrNone,
    "Forward proxy instead of `delivery.proxy`, or `none` to send requests directly.",
  ),
};

export const webhookSettings = section(
  "Switchyard delivers the calls as webhooks.",
  webhookFields,
  checkWebhook,
);

/** Checks that the settings of a webhook destination fit together. */
function checkWebhook(
  values: Values<typeof webhookFields>,
  place: Place,
): WebhookDestination | Invalid {
  const standard = values.standardWebhooks
    ? checkStandardWebhooks(values, place)
    : checkWithoutStandardWebhooks(values, place);
  const traced = values.traceparent ? checkHeaders(TRACEPARENT, values, place) : null;
  const authenticated = values.auth === null ? null : checkHeaders(AUTHORIZATION, values, place);
  const ordered = checkOrder(values, place);
  const type = { kind: "webhook", isAttempted: true, getsDeletions: true } as const;
  return standard ?? traced ?? authenticated ?? ordered ?? { ...type, ...values };
}

function checkStandardWebhooks(values: Values<typeof webhookFields>, place: Place): Invalid | null {
  const { sharedSecret, previousSharedSecret, endpoints, signingKey, previousSigningKey } = values;
  let invalid: Invalid | null = null;
  if (sharedSecret === null && signingKey === null) {
    const expected =
      "a string that is not empty, which standardWebhooks requires without signingKey";
    invalid = place.child("sharedSecret").fail("nothing", expected);
  }
  if (previousSigningKey !== null && signingKey === null) {
    const expected = "nothing, because signingKey is not set";
    const hint = "set signingKey to the key that replaces it";
    invalid = place.child("previousSigningKey").fail("a signing key", expected, hint);
  }
  invalid = checkStandardSecrets({ sharedSecret, previousSharedSecret }, place) ?? invalid;
  return checkHeaders(STANDARD_HEADERS, { endpoints }, place) ?? invalid;
}

function checkWithoutStandardWebhooks(
  { signingKey, previousSigningKey }: Values<typeof webhookFields>,
  place: Place,
): Invalid | null {
  let invalid: Invalid | null = null;
  for (const [name, key] of Object.entries({ signingKey, previousSigningKey })) {
    if (key === null) continue;
    const expected = "nothing, because only the headers of Standard Webhooks have this signature";
    const hint = "set standardWebhooks: true";
    invalid = place.child(name).fail("a signing key", expected, hint);
  }
  return invalid;
}

interface OwnHeaders {
  readonly names: RegExp;
  readonly found: string;
}

const STANDARD_HEADERS: OwnHeaders = {
  names: /^webhook-/i,
  found: "a header of Standard Webhooks, which Switchyard sends to this destination",
};
const TRACEPARENT: OwnHeaders = {
  names: /^trace(?:parent|state)$/i,
  found: "a trace header, which Switchyard sends to this destination",
};

const AUTHORIZATION: OwnHeaders = {
  names: /^authorization$/i,
  found: "a header that auth sets",
};

/** Checks that no static header has the name of a header that another setting of the destination adds. */
function checkHeaders(
  { names, found }: OwnHeaders,
  { endpoints }: Pick<Values<typeof webhookFields>, "endpoints">,
  place: Place,
): Invalid | null {
  let invalid: Invalid | null = null;
  for (const [index, { headers }] of endpoints.entries()) {
    for (const [name] of headers) {
      if (!names.test(name)) continue;
      const header = place.child("endpoints").child(index).child("headers").child(name);
      invalid = header.fail(found, "a header that may be added", "remove it");
    }
  }
  return invalid;
}
