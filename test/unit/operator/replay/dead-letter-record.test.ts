// Which dead letters match which filters, and which fields of a dead letter are read.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import {
  type DeadLetterFilter,
  EVERY_DEAD_LETTER,
  messageIdOf,
  passes,
  readDeadLetter,
} from "../../../../src/operator/replay/dead-letter-record.ts";
import { deadLetterRecord, topics } from "../../../support/worlds/replay-world.ts";

const AT_MS = 1_800_000_000_000;
const stored = { partition: 0, offset: 3, timestampMs: 99 };
const delivered = readDeadLetter(
  { ...deadLetterRecord({}, { failedAtMs: AT_MS }), ...stored },
  topics,
);
const unrouted = readDeadLetter(
  {
    ...deadLetterRecord(
      {},
      {
        stage: "route",
        reason: "unknown-source",
        topic: topics.calls,
        headers: [],
        value: '{"type":"track","messageId":"m-7"}',
      },
    ),
    ...stored,
  },
  topics,
);

test.each<[Partial<DeadLetterFilter>, boolean, boolean]>([
  [{}, true, true],
  [{ destinations: ["crm"] }, true, false],
  [{ destinations: ["other", "crm"] }, true, false],
  [{ destinations: ["other"] }, false, false],
  [{ reasons: ["rejected"] }, true, false],
  [{ reasons: ["unknown-source", "rejected"] }, true, true],
  [{ messageIds: ["m-1"] }, true, false],
  [{ messageIds: ["m-7"] }, false, true],
  [{ sinceMs: AT_MS }, true, true],
  [{ sinceMs: AT_MS + 1 }, false, false],
  [{ untilMs: AT_MS + 1 }, true, true],
  [{ untilMs: AT_MS }, false, false],
  [{ destinations: ["crm"], reasons: ["expired"] }, false, false],
])("%j passes a rejected delivery: %s, a call without source: %s", (filter, first, second) => {
  expect(passes(delivered, { ...EVERY_DEAD_LETTER, ...filter })).toBe(first);
  expect(passes(unrouted, { ...EVERY_DEAD_LETTER, ...filter })).toBe(second);
});

test("reads where a record stood, and takes the destination from there if need be", () => {
  expect(delivered.from).toEqual({ topic: "sw.deliveries.crm", partition: 1, offset: 7 });
  const bare = deadLetterRecord({}, { headers: [] });
  expect(readDeadLetter({ ...bare, ...stored }, topics).destination).toBe("crm");
  expect(unrouted.destination).toBe(null);
});

test.each([
  ["deliver", topics.deliveries("crm" as DestinationId), "crm"],
  // The names of its topics belong to other topics here, so only the record has the information.
  ["deliver", "old.deliveries.crm", "gone"],
  ["delay", topics.delays(10_000), "gone"],
] as const)("%s gave up a delivery for gone on %s: it is %s's", (stage, topic, destination) => {
  const record = deadLetterRecord({ destination: "gone" as DestinationId }, { stage, topic });
  expect(readDeadLetter({ ...record, ...stored }, topics).destination).toBe(destination);
});

test("a record without any header is read all the same", () => {
  const record = { ...deadLetterRecord({}), ...stored, headers: [] };
  expect(readDeadLetter(record, topics)).toEqual({
    record,
    stage: "",
    reason: "",
    error: "",
    failedAtMs: 99,
    from: { topic: "", partition: null, offset: null },
    destination: null,
    endpoint: null,
    accepted: [],
    messageId: null,
  });
});

test.each([
  [null, null],
  ["no json", null],
  ["null", null],
  ["7", null],
  ['{"messageId":7}', "7"],
  ['{"messageId":0}', "0"],
  ['{"messageId":1e999}', null],
  ['{"messageId":[7]}', null],
  ['{"messageId":""}', null],
  ['{"messageId":"m-7"}', "m-7"],
])("the message id of the value %j is %j", (value, messageId) => {
  const record = { ...deadLetterRecord({}, { headers: [], value }), ...stored };
  expect(messageIdOf(readDeadLetter(record, topics))).toBe(messageId);
});
