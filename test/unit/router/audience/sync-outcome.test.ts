// The outcome of a sync at its end.

import { expect, test } from "vitest";
import { verdictOf } from "../../../../src/router/audience/scan-members.ts";

const judged = {
  count: 70,
  arrived: 70,
  membersBefore: 1_000,
  removals: 300,
  force: false,
  approvalShare: 0.3,
  approvalMinimum: 100,
};
test.each([
  [{ count: 71 }, "count-mismatch"],
  [{ count: 71, force: true }, "count-mismatch"],
  [{}, "complete"],
  [{ removals: 301 }, "awaiting-approval"],
  [{ removals: 301, force: true }, "complete"],
  [{ removals: 301, approvalShare: null }, "complete"],
  [{ removals: 100, membersBefore: 100 }, "complete"],
  [{ removals: 101, membersBefore: 101 }, "awaiting-approval"],
  [{ count: 0, arrived: 0, removals: 0 }, "awaiting-approval"],
  [{ count: 0, arrived: 0, removals: 0, approvalShare: null }, "complete"],
  [{ count: null, removals: 301 }, "awaiting-approval"],
  [{ removals: 290, membersBefore: 1_000, approvalShare: 0.29 }, "complete"],
  [{ removals: 1_000, approvalShare: 1 }, "complete"],
  [{ removals: 1_000, approvalShare: 0 }, "awaiting-approval"],
])("%j is %s", (more, verdict) => {
  expect(verdictOf({ ...judged, ...more })).toBe(verdict);
});
