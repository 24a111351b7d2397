/** The section `operatorEvents`: a topic that is written, and a webhook that is told, only where somebody asks for it. */

import type { Invalid, Place } from "./config-path.ts";
import { refuseStandardSecrets } from "./destination-settings.ts";
import { webUrl } from "./endpoint-url.ts";
import { flag, secret } from "./scalars.ts";
import { optional, optionalSection, required, section, setting } from "./setting.ts";
import { staticHeaders } from "./static-headers.ts";

interface Signed {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly sharedSecret: string | null;
  readonly previousSharedSecret: string | null;
}

const webhook = section(
  "Where each event is posted, too, see [The operator's webhook](operations.md#the-operators-webhook).",
  {
    url: required(
      webUrl("a complete http or https URL such as https://pager.example.com/hook"),
      "Where events are posted, as CloudEvents in JSON.",
    ),
    headers: setting(
      staticHeaders,
      {},
      "Static headers, added to each request. Values are secret.",
    ),
    sharedSecret: optional(
      secret("a text that is not empty"),
      "Signs each event: `X-Signature`, and the headers of Standard Webhooks. Left out: no signature.",
    ),
    previousSharedSecret: optional(
      secret("a text that is not empty"),
      "The secret of before a rotation, for Standard Webhooks only.",
    ),
  },
  <V extends Signed>(values: V, place: Place): V | Invalid => {
    const { headers, sharedSecret, previousSharedSecret } = values;
    const own = headers.find(([name]) => /^webhook-/i.test(name));
    if (own !== undefined) {
      const found = "a header of Standard Webhooks, which events have";
      const expected = "a header that may be added";
      const header = place.child("headers").child(own[0]);
      return header.fail({ found, expected, hint: "leave it out" });
    }
    return refuseStandardSecrets({ sharedSecret, previousSharedSecret }, place) ?? values;
  },
);

export const operatorEventsSettings = section(
  "Events for people, see [Events](operations.md#events-for-people).",
  {
    enabled: setting(
      flag(),
      false,
      "Whether the topic of events is written: a destination fails or recovers, is paused or resumed, deliveries are about to expire, an audience sync awaits approval, a configuration is refused, Kafka was away.",
    ),
    webhook: optionalSection(webhook, false),
  },
  (values, place) => {
    if (values.webhook === null || values.enabled) return values;
    return place.child("enabled").fail({
      found: "false, with a webhook",
      expected: "true, because the webhook is told what the topic says",
      hint: null,
    });
  },
);
