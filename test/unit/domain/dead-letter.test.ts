import { expect, test } from "vitest";

import { deadLetter } from "../../../src/domain/dead-letter.ts";

test("a dead letter says where this one came from, not where an earlier one did", () => {
  const place = { topic: "sw.calls", partition: 3, offset: 17 };
  const record = { ...place, key: Buffer.from("k"), value: Buffer.from("v"), headers: [] };
  const cause = { stage: "route", reason: "invalid-call", error: "first", failedAtMs: 1 } as const;
  const earlier = deadLetter("dead-letters", record, cause);
  const again = { ...earlier, topic: "sw.deliveries.crm", partition: 0, offset: 4 };
  const { key, value, headers } = deadLetter("dead-letters", again, {
    stage: "deliver",
    reason: "rejected",
    error: "second",
    failedAtMs: 2,
  });
  expect([key, value]).toEqual([record.key, record.value]);
  expect(headers.map(([name, text]) => [name, `${text}`])).toEqual([
    ["switchyard-stage", "deliver"],
    ["switchyard-reason", "rejected"],
    ["switchyard-error", "second"],
    ["switchyard-failed-at", "2"],
    ["switchyard-topic", "sw.deliveries.crm"],
    ["switchyard-partition", "0"],
    ["switchyard-offset", "4"],
  ]);
});
