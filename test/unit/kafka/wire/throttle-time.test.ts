import { expect, test } from "vitest";

import { throttleMsIn } from "../../../../src/kafka/wire/throttle-time.ts";

/** Encodes numbers of four bytes, one after the other. */
function ints(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeInt32BE(value, at * 4);
  return bytes;
}
const flexible = (...values: readonly number[]) =>
  Buffer.concat([Buffer.from([0]), ints(...values)]);

test.each([
  ["Produce, at the end", 0, 7, ints(1, 2, 900), 900],
  ["Produce without one", 0, 0, ints(1, 2, 900), 0],
  ["Fetch, in front", 1, 11, ints(900, 2, 3), 900],
  ["Metadata", 3, 6, ints(900, 2), 900],
  ["Metadata before it had one", 3, 2, ints(900, 2), 0],
  ["flexible Metadata, behind the tagged fields", 3, 12, flexible(900, 2), 900],
  ["OffsetCommit", 8, 5, ints(900), 900],
  ["JoinGroup", 11, 5, ints(900, 2), 900],
  ["Heartbeat", 12, 3, ints(900), 900],
  ["ApiVersions, at the end", 18, 2, ints(1, 900), 900],
  ["SaslHandshake, which has none", 17, 1, ints(900), 0],
  ["a kind that is not known", 999, 1, ints(900), 0],
  ["none", 12, 3, ints(0), 0],
  ["a negative one", 12, 3, ints(-5), 0],
  ["a response that is too short", 12, 3, Buffer.from([0, 0, 1]), 0],
])("%s", (_, apiKey, apiVersion, payload, throttleMs) => {
  expect(throttleMsIn(apiKey, apiVersion, payload)).toBe(throttleMs);
});
