// What no call, however odd, may do to the body of its webhook.

import fc from "fast-check";
import { expect, test } from "vitest";

import { payload } from "../../../src/deliver/payload.ts";
import { sharedRequest } from "../../../src/deliver/request.ts";
import { parseWebhook } from "../../../src/deliver/webhook.ts";
import { costlyInputs } from "../../support/build/generated-inputs.ts";
import { recordValue } from "../../support/build/record-value.ts";
import { deliveryOf, webhookDestination } from "../../support/build/webhook-destination.ts";

/** Each input is a whole call. */
const numRuns = costlyInputs(10);

const json = fc.dictionary(fc.string(), fc.jsonValue());
const call = fc.record(
  {
    type: fc.constantFrom("page", "screen", "identify", "track", "alias", "group", "delete"),
    userId: fc.string({ minLength: 1 }),
    previousId: fc.string({ minLength: 1 }),
    groupId: fc.string({ minLength: 1 }),
    event: fc.string({ minLength: 1 }),
    properties: json,
    traits: json,
    context: json,
    writeKey: fc.constant("WRITE-KEY"),
  },
  { requiredKeys: ["type", "userId", "previousId", "groupId", "event", "writeKey"] },
);
const shape = fc.constantFrom("standard" as const, "full" as const);

test("JSON.stringify(JSON.parse(body)) gives the body back, and no write key is in it", () => {
  fc.assert(
    fc.property(call, shape, (given, as) => {
      const parsed = parseWebhook(recordValue(JSON.stringify(given)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const body = payload(parsed.webhook, deliveryOf(), as);
      expect(JSON.stringify(JSON.parse(body))).toBe(body);
      expect(Object.hasOwn(JSON.parse(body), "writeKey")).toBe(false);
    }),
    { numRuns },
  );
});

test("every attempt sends the same bytes and the same signature", () => {
  fc.assert(
    fc.property(call, fc.nat({ max: 20 }), fc.nat(), (given, attempt, nowMs) => {
      const parsed = parseWebhook(recordValue(JSON.stringify(given)));
      if (parsed.kind === "refused") throw new Error(parsed.error);
      const first = sharedRequest(webhookDestination(), parsed.webhook, deliveryOf(), 0);
      const later = sharedRequest(
        webhookDestination(),
        parsed.webhook,
        deliveryOf({ attempt }),
        nowMs,
      );
      expect(later).toEqual(first);
    }),
    { numRuns },
  );
});
