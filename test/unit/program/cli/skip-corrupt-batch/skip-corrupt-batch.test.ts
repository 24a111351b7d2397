// Only the given corrupt batch is skipped.

import { expect, test } from "vitest";

import { groupOf } from "../../../../../src/program/cli/skip-corrupt-batch/command.ts";
import { refusalOf } from "../../../../../src/program/cli/skip-corrupt-batch/skip-corrupt-batch.ts";
import { config } from "../../../../support/build/config-source.ts";

const signal = new AbortController().signal;
const options = { topic: "t", partition: 3, offset: 42, group: "g", dryRun: false, signal };
const place = { topic: "t", partition: 3, offset: 42, behind: 50, isEndKnown: true };
const corrupt = { ...place, corruption: "its length is 0" };

test.each([
  ["the batch", 42, corrupt, null],
  ["the middle of the batch", 45, corrupt, null],
  ["an offset in the middle was named", 42, { ...corrupt, offset: 40 }, null],
  ["a whole batch", 42, null, /the batch there is intact/],
  ["a record before the batch", 41, null, /records before the batch have not been processed/],
  ["a record behind the batch", 50, null, /has already passed offset 42/],
  ["another corrupt batch", 7, { ...corrupt, offset: 7 }, /begins at 7, not at 42/],
])("the group is at %s", (_what, offset, found, refusal) => {
  const refused = refusalOf(options, { partition: 3, offset, metadata: "" }, found);
  if (refusal === null) expect(refused).toBeNull();
  else expect(refused).toMatch(refusal);
});

const configured = config(`
kafka: { brokers: "localhost:9092", topicPrefix: "p.", topics: { calls: own-calls } }
sources: [{ id: web, destinations: [] }]
destinations: []
`);

test.each([
  ["own-calls", "p.route"],
  ["p.audience-syncs", "p.audience"],
  ["p.deletion-requests", "p.deletion"],
  ["p.deliveries.removed", "p.deliver.removed"],
  ["p.retries.removed", "p.deliver.removed"],
  ["p.delays.7m", "p.delay.7m"],
  ["p.delays.x", null],
  ["p.dead-letters", null],
  ["p.calls", null],
])("%s is read by %s", (topic, group) => {
  expect(groupOf(topic, configured)).toBe(group);
});
