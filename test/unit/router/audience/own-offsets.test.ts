// The topic to which records belong, and the offsets that the stage uses.

import { expect, test } from "vitest";
import { withSchema } from "../../../../src/domain/record.ts";
import {
  asItCame,
  needsEnd,
  originOf,
  readOrigin,
  usedOffsets,
  withOwnOffset,
} from "../../../../src/router/audience/own-offsets.ts";
import { StoredRecord } from "../../../support/build/stored-record.ts";

const A = { topicId: "a", base: 100 };
const NO_ID = { topicId: "", base: 100 };

test.each([
  // If the ID is the same, the log end offset does not matter.
  [A, "a", 150, 0, "same", A],
  [A, "b", 150, 9_000, "another", { topicId: "b", base: 151 }],
  // This is the very first record.
  [null, "a", 0, 0, "noted", { topicId: "a", base: 0 }],
  [null, "", 0, 0, "same", { topicId: "", base: 0 }],
  // Nothing is stored while brokers have no topic IDs.
  [null, "a", 50, 50, "noted", { topicId: "a", base: 0 }],
  [null, "a", 50, 49, "another", { topicId: "a", base: 51 }],
  [null, "", 50, 50, "same", { topicId: "", base: 0 }],
  [null, "", 50, 49, "another", { topicId: "", base: 51 }],
  // Brokers had no topic IDs before, but have them now.
  [NO_ID, "", 150, 50, "same", NO_ID],
  [NO_ID, "", 150, 49, "another", { topicId: "", base: 151 }],
  [NO_ID, "a", 150, 50, "noted", { topicId: "a", base: 100 }],
  [NO_ID, "a", 150, 49, "another", { topicId: "a", base: 151 }],
  // Brokers no longer return topic IDs.
  [A, "", 150, 50, "same", A],
  [A, "", 150, 49, "another", { topicId: "", base: 151 }],
] as const)(
  "%j, then a topic %j, %d used, log to %d: %s",
  (known, topicId, used, end, kind, origin) => {
    expect(originOf({ known, topicId, used }, end)).toEqual({ kind, origin });
  },
);

test.each([
  [A, "a", 150, false],
  [A, "b", 150, false],
  [A, "", 150, true],
  [null, "a", 150, true],
  [null, "a", 0, false],
])(
  "%j, then a topic %j, %d used: whether the log's end is asked for: %s",
  (known, topicId, used, is) => {
    expect(needsEnd({ known, topicId, used })).toBe(is);
  },
);

test.each([undefined, "", "{", "null", '{"topicId":1,"base":0}', '{"topicId":"a","base":-1}'])(
  "%s names no topic",
  (text) => {
    expect(readOrigin(text)).toBeNull();
  },
);

test("a topic is read as it was written", () => {
  expect(readOrigin(JSON.stringify(A))).toEqual(A);
});

test("the offsets used are the highest of all that are known", () => {
  const nothing = {
    id: "a",
    name: "a",
    key: "a",
    last: null,
    closed: 0,
    open: null,
    awaitingApproval: null,
  };
  const open = { syncId: "s", begin: 8, beganAtMs: 0, membersBefore: 0, verdict: null };
  const awaitingApproval = { syncId: "s", begin: 9, removals: 0, sinceMs: 0 };
  const used = (position: number, applied: number, ...more: object[]) =>
    usedOffsets({
      position,
      applied,
      audiences: () => more.map((one) => ({ ...nothing, first: 7, ...one })),
    });
  expect(used(5, 3)).toBe(5);
  expect(used(3, 6)).toBe(6);
  expect(used(5, 3, {})).toBe(8);
  expect(used(5, 3, { open })).toBe(9);
  expect(used(5, 3, { open }, { awaitingApproval })).toBe(10);
  expect(used(50, 3, { open, awaitingApproval })).toBe(50);
});

test("a record with another offset is the same in everything else, and is found again", () => {
  const [key, value] = [Buffer.from("k"), Buffer.from("v")];
  const headers = [["h", Buffer.from("x")]] as const;
  const place = { topic: "t", partition: 3, offset: 5, timestampMs: 9 };
  const schema = { ref: 0, known: { kind: "refused", reason: "x" }, start: 1 } as never;
  const came = withSchema(new StoredRecord({ ...place, key, value, headers }), schema);
  const moved = withOwnOffset(came, 100);
  const { topic, partition, timestampMs, offset } = moved;
  expect({ topic, partition, timestampMs, offset }).toEqual({ ...place, offset: 105 });
  expect([moved.key, moved.value, moved.headers, moved.schema]).toEqual([
    key,
    value,
    headers,
    schema,
  ]);
  expect([moved.encoded, moved.omitted]).toEqual([came.encoded, came.omitted]);
  const reported: string[] = [];
  moved.eachHeader?.((name, bytes, start, end) =>
    reported.push(name, `${bytes.subarray(start, end)}`),
  );
  expect(reported).toEqual(["h", "x"]);
  expect(asItCame(moved)).toBe(came);
  expect(withOwnOffset(came, 0)).toBe(came);
  expect(asItCame(came)).toBe(came);
});
