import { expect, test } from "vitest";
import { isSkipReason, SKIP_REASONS, SKIP_TEXTS } from "../../../../src/base/words/reasons.ts";
import type { Reason } from "../../../../src/router/route/route.ts";

/** Complete by its type: a reason of the route stage that is added and skips calls does not compile. */
const COUNTED: Readonly<
  Record<Exclude<Reason, "by-default" | "named-true" | "rule-failed">, true>
> = {
  suppressed: true,
  "not-connected": true,
  disabled: true,
  "no-consent": true,
  "named-false": true,
  "all-false": true,
  "sampled-out": true,
  filtered: true,
};

test("each reason for which the route stage skips calls has its words", () => {
  expect([...SKIP_REASONS].toSorted()).toEqual(Object.keys(COUNTED).toSorted());
  expect(SKIP_REASONS.filter((reason) => SKIP_TEXTS[reason] === "")).toEqual([]);
  expect([isSkipReason("filtered"), isSkipReason("rule-failed")]).toEqual([true, false]);
});
