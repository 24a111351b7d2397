/** The list `destinations`: where calls go, and how. */

import {
  type Endpoint,
  endpointKey,
  type TopicDestination,
  type WebhookDestination,
} from "../domain/destination.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { Invalid, Place } from "./config-path.ts";
import { webUrl } from "./endpoint-url.ts";
import { tlsFiles } from "./pem.ts";
import { flag, oneOf, rate, secret, textLike, wholeNumber } from "./scalars.ts";
import {
  list,
  optional,
  optionalSection,
  required,
  section,
  setting,
  type Values,
  variants,
} from "./setting.ts";
import { id } from "./source-settings.ts";
import { staticHeaders } from "./static-headers.ts";

/** The key's bytes in base64, padded or not. */
const STANDARD_SECRET =
  /^whsec_(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=?|[A-Za-z\d+/]{2}(?:==)?)$/;
const ENDPOINTS = { min: 1, max: 5 };
const integrationName = textLike("a name, without blanks at its ends", /^\S(?:.*\S)?$/);

const ID = required(
  id<DestinationId>(),
  "Names the destination, its topic and its consumer group.",
);

const base = {
  enabled: setting(flag(), true, "Whether calls are routed and delivered to it."),
  historical: setting(
    flag(),
    true,
    "Whether it takes historical data. If not, it gets the time of receipt in place of the call's own.",
  ),
  partitions: optional(
    wholeNumber(1, 10_000),
    "Partitions of its topic when that is created; left out: `kafka.partitions`.",
  ),
};

const endpoint = section(
  "",
  {
    url: required(
      webUrl("a complete http or https URL such as https://crm.example.com/hook"),
      "Where webhooks are posted.",
    ),
    headers: setting(
      staticHeaders,
      {},
      "Static headers, added to each request. Values are secret.",
    ),
  },
  ({ url, headers }): Endpoint => ({ key: endpointKey(url), url, headers }),
);

const webhookFields = {
  id: ID,
  name: setting(
    integrationName,
    "Webhooks",
    "The integration name that calls use in `integrations`. Case-sensitive.",
  ),
  ...base,
  sharedSecret: optional(
    secret("a text that is not empty"),
    "Signs each body (`X-Signature`). Left out: no signature.",
  ),
  previousSharedSecret: optional(
    secret("a text that is not empty"),
    "The secret of before a rotation, for Standard Webhooks only.",
  ),
  endpoints: list("URLs that webhooks are posted to, 1 to 5, each once:", endpoint, ENDPOINTS),
  payload: setting(
    oneOf("standard", "full"),
    "standard",
    "Fields of the body: those of the type alone, or all that the call has.",
  ),
  deliver: setting(
    oneOf("any", "every"),
    "any",
    "With several endpoints: done when any accepts, or when every one has.",
  ),
  paused: setting(
    flag(),
    false,
    "Whether nothing is posted for now. Calls are still routed to it and wait in order.",
  ),
  concurrency: setting(
    wholeNumber(1, 10_000),
    64,
    "Deliveries in attempt at the same time, in each process.",
  ),
  requestsPerSecond: optional(
    rate(1_000_000),
    "Most requests a second, over all processes; left out: no limit.",
  ),
  messageIdHeader: setting(flag(), false, "Adds the header `X-Switchyard-Message-Id`."),
  attemptHeader: setting(flag(), false, "Adds a header with the attempt's number."),
  traceparent: setting(
    flag(),
    false,
    "Adds the header `traceparent` where the call's trace is known.",
  ),
  standardWebhooks: setting(
    flag(),
    false,
    "Adds the headers of Standard Webhooks (`webhook-id` and others). Needs `sharedSecret`.",
  ),
  tls: optionalSection(tlsFiles("Files for TLS to this destination's endpoints."), false),
};

const webhook = section("Delivered by Switchyard as webhooks.", webhookFields, checkWebhook);

const topic = section(
  "Only its topic is written; others consume it.",
  {
    id: ID,
    name: required(integrationName, "The integration name; must be given for a topic."),
    ...base,
  },
  (values): TopicDestination => ({ kind: "topic", ...values }),
);

export const destinationSettings = list(
  "Where calls go. Each destination has:",
  variants("", "type", "Delivered by Switchyard, or left on its topic for others.", {
    webhook,
    topic,
  }),
  { min: 0, max: Number.POSITIVE_INFINITY },
);

/** Rules between the settings of a webhook destination. */
function checkWebhook(
  values: Values<typeof webhookFields>,
  place: Place,
): WebhookDestination | Invalid {
  const standard = values.standardWebhooks ? checkStandardWebhooks(values, place) : null;
  const traced = values.traceparent ? checkHeaders(TRACEPARENT, values, place) : null;
  return standard ?? traced ?? { kind: "webhook", ...values };
}

function checkStandardWebhooks(
  { sharedSecret, previousSharedSecret, endpoints }: Values<typeof webhookFields>,
  place: Place,
): Invalid | null {
  let invalid: Invalid | null = null;
  if (sharedSecret === null) {
    const expected = "a text that is not empty, since standardWebhooks is true";
    invalid = place.child("sharedSecret").fail({ found: "nothing", expected, hint: null });
  }
  invalid = checkStandardSecrets({ sharedSecret, previousSharedSecret }, place) ?? invalid;
  return checkHeaders(STANDARD_HEADERS, { endpoints }, place) ?? invalid;
}

/** One that libraries of Standard Webhooks would read in another way. */
export function checkStandardSecrets(
  secrets: Readonly<Record<"sharedSecret" | "previousSharedSecret", string | null>>,
  place: Place,
): Invalid | null {
  let invalid: Invalid | null = null;
  for (const [name, secret] of Object.entries(secrets)) {
    if (secret === null || !secret.startsWith("whsec_") || STANDARD_SECRET.test(secret)) continue;
    const found = "whsec_ before something else";
    const expected = "base64 after whsec_, as Standard Webhooks has it";
    invalid = place.child(name).fail({ found, expected, hint: null });
  }
  return invalid;
}

interface OwnHeaders {
  readonly names: RegExp;
  readonly found: string;
}

const STANDARD_HEADERS: OwnHeaders = {
  names: /^webhook-/i,
  found: "a header of Standard Webhooks, which this destination is sent",
};
const TRACEPARENT: OwnHeaders = {
  names: /^trace(?:parent|state)$/i,
  found: "a header of traces, which this destination is sent",
};

/** Static headers must not be those that the destination asks for. */
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
      const expected = "a header that may be added";
      invalid = header.fail({ found, expected, hint: "leave it out" });
    }
  }
  return invalid;
}
