// The table of early-release.ts.

import { describe, expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import {
  cancelledText,
  cancelOf,
  isReleasedBy,
  type Releasable,
} from "../../../../src/router/control/early-release.ts";
import type { EarlyRelease } from "../../../../src/router/control/operator-actions.ts";

const AT_MS = Date.parse("2026-03-01T09:30:00Z");
const crm = "crm" as DestinationId;
const retry: EarlyRelease = {
  ...{ kind: "retry", destination: crm, id: "a", atMs: AT_MS, by: "command" },
  receivedBeforeMs: null,
};
const cancel: EarlyRelease = { ...retry, kind: "cancel", receivedBeforeMs: AT_MS - 100 };
const recordOf = (more: Partial<Releasable>): Releasable => {
  const times = { timestampMs: AT_MS - 1, receivedAtMs: AT_MS - 101, firstAttemptAtMs: null };
  return { destination: crm, ...times, ...more };
};

describe("an early release is about a record that", () => {
  test.each([
    ["was written before it", {}, true, true],
    ["was received too late", { receivedAtMs: AT_MS - 100 }, true, false],
    ["was written later", { timestampMs: AT_MS }, false, false],
    [
      ...([
        "was written later, attempted before",
        { timestampMs: AT_MS, firstAttemptAtMs: AT_MS - 1 },
      ] as const),
      ...([false, true] as const),
    ],
    [
      ...([
        "was written and attempted later",
        { timestampMs: AT_MS, firstAttemptAtMs: AT_MS },
      ] as const),
      ...([false, false] as const),
    ],
    ["says no time", { timestampMs: 0 }, false, false],
    ["is another's", { destination: "other" as DestinationId }, false, false],
  ])("%s", (_, more, isRetried, isCancelled) => {
    expect(isReleasedBy(retry, recordOf(more))).toBe(isRetried);
    expect(isReleasedBy(cancel, recordOf(more))).toBe(isCancelled);
    expect(cancelOf([retry, cancel], recordOf(more))).toBe(isCancelled ? cancel : null);
  });
});

test("the sentence says who, and when", () => {
  expect(cancelledText(cancel)).toBe("cancelled by command at 2026-03-01T09:30:00.000Z");
});
