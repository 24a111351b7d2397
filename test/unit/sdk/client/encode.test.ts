import { expect, test } from "vitest";

import {
  batchBody,
  batchBytes,
  CALL_MAX_BYTES,
  type EncodedCall,
  encode,
  nextBatch,
} from "../../../../src/sdk/client/encode.ts";
import { validate } from "../../../../src/sdk/client/validate.ts";

const NOW_MS = 1_800_000_000_000;

function track(text: string): EncodedCall {
  const call = { userId: "u", event: "e", properties: { text } };
  return encode(validate("track", call, () => "m"));
}

const EMPTY_BYTES = track("").bytes;

test.each([
  ["one byte a character", "a", 1],
  ["two bytes", "é", 2],
  ["three bytes", "☕", 3],
])("a call of exactly 32 KB is taken, one more character is not: %s", (_, character, width) => {
  const fits = Math.floor((CALL_MAX_BYTES - EMPTY_BYTES) / width);
  const rest = "a".repeat((CALL_MAX_BYTES - EMPTY_BYTES) % width);
  const call = track(character.repeat(fits) + rest);
  expect(call.bytes).toBe(CALL_MAX_BYTES);
  expect(call.bytes).toBe(Buffer.byteLength(call.json));
  expect(() => track(`${character.repeat(fits)}${rest}a`)).toThrow(
    expect.objectContaining({ field: "properties" }),
  );
});

test("a call of 40 KiB in multi-byte characters is rejected though it has few characters", () => {
  const text = "☕".repeat((40 * 1_024) / 3);
  expect(text.length).toBeLessThan(CALL_MAX_BYTES);
  expect(() => track(text)).toThrow(/the limit is 32768 bytes/);
});

test("a lone surrogate is escaped, and its escape is counted", () => {
  const { json, bytes } = track("\ud800");
  expect(bytes).toBe(EMPTY_BYTES + "\\ud800".length);
  expect(JSON.parse(json).properties.text).toBe("\ud800");
});

test.each<[string, () => object]>([
  [
    "a cycle",
    () => {
      const properties: Record<string, unknown> = {};
      properties.self = properties;
      return properties;
    },
  ],
  ["a bigint", () => ({ id: 1n })],
  [
    "a toJSON that throws",
    () => ({
      value: {
        toJSON: () => {
          throw new Error("no");
        },
      },
    }),
  ],
  ["10,000 levels", () => JSON.parse(`{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`)],
  ["1,001 levels", () => JSON.parse(`{"a":${"[".repeat(1_001)}${"]".repeat(1_001)}}`)],
])("what cannot be sent is rejected with the field's name: %s", (_, properties) => {
  const call = { userId: "u", event: "e", properties: properties() };
  expect(() => encode(validate("track", call, () => "m"))).toThrow(
    expect.objectContaining({ name: "ValidationError", field: "properties" }),
  );
});

test("the largest calls fill a batch to at most 500 KB with its envelope", () => {
  const largest = track("☕".repeat(Math.floor((CALL_MAX_BYTES - EMPTY_BYTES) / 3)));
  const waiting = Array.from({ length: 20 }, () => largest);
  const batch = nextBatch(waiting, 20);
  const body = batchBody(batch, NOW_MS);
  expect(batch).toHaveLength(15);
  expect(Buffer.byteLength(body)).toBe(batchBytes(15 * largest.bytes, 15));
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(500 * 1_024);
  expect(JSON.parse(body).sentAt).toBe("2027-01-15T08:00:00.000Z");
});

test("a batch that is exactly 500 KB is one request, a byte more makes two", () => {
  const small = { json: "1".repeat(1_000), bytes: 1_000 };
  const around = batchBytes(0, 0);
  const count = Math.floor((500 * 1_024 - around) / 1_001);
  const room = 500 * 1_024 - batchBytes(count * 1_000, count) + 1_000;
  const calls = Array.from({ length: count }, () => small);
  const withLast = (bytes: number) => [...calls.slice(1), { json: "1".repeat(bytes), bytes }];
  expect(nextBatch(withLast(room), 1_000)).toHaveLength(count);
  expect(nextBatch(withLast(room + 1), 1_000)).toHaveLength(count - 1);
});

test("a batch holds at most flushAt calls, in order", () => {
  const calls = ["a", "b", "c"].map(track);
  expect(nextBatch(calls, 2)).toEqual(calls.slice(0, 2));
});
