// Which headers of a delivery are trusted: the table of `sanitizeHeaders`.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { sanitizeHeaders } from "../../../../src/router/deliver/prepare.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const WINDOW_MS = 4 * 3_600_000;
const YEAR_MS = 365 * 86_400_000;
const CRM = "crm" as DestinationId;

function read(given: Parameters<typeof deliveryOf>[0]) {
  return sanitizeHeaders(deliveryOf({ destination: CRM, ...given }), CRM, WINDOW_MS, NOW_MS);
}

test("a delivery as stages write it is believed, and is the same object", () => {
  const delivery = deliveryOf({
    destination: CRM,
    attempt: 2,
    firstAttemptAtMs: NOW_MS - 1,
    notBeforeMs: NOW_MS + WINDOW_MS,
  });
  expect(sanitizeHeaders(delivery, CRM, WINDOW_MS, NOW_MS)).toBe(delivery);
  const fresh = deliveryOf({ destination: CRM });
  expect(sanitizeHeaders(fresh, CRM, WINDOW_MS, NOW_MS)).toBe(fresh);
});

test.each([
  ["another destination", { destination: "other" as DestinationId }, { destination: CRM }],
  [
    "a first attempt in the future",
    { firstAttemptAtMs: NOW_MS + YEAR_MS },
    { firstAttemptAtMs: NOW_MS },
  ],
  [
    "a not-before beyond the window",
    { notBeforeMs: NOW_MS + YEAR_MS },
    { notBeforeMs: NOW_MS + WINDOW_MS },
  ],
])("%s is cut, and all else is kept", (_name, given, expected) => {
  const delivery = deliveryOf({ destination: CRM, attempt: 3, ...given });
  expect(read({ attempt: 3, ...given })).toEqual({ ...delivery, ...expected });
});
