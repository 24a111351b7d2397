// When a connection authenticates again.

import { expect, test } from "vitest";

import { isTimeToAuthenticate } from "../../../../src/kafka/kafkajs/sessions.ts";

test.each([
  [1_000_000, 0, false],
  [0, 0, false],
  [899, 1_000, false],
  [900, 1_000, true],
  [2_699, 3_000, false],
  [2_700, 3_000, true],
  [3_239_999, 3_600_000, false],
  [3_240_000, 3_600_000, true],
])("%i ms after the authentication, in a session of %i ms: %s", (sinceMs, sessionMs, isTime) => {
  expect(isTimeToAuthenticate(sinceMs, sessionMs, 0.9)).toBe(isTime);
});
