import { createRecordsBatch, murmur2 as expectedMurmur2 } from "@platformatic/kafka";
import fc from "fast-check";
import { expect, test } from "vitest";
import { forwarded } from "../../../../src/domain/record.ts";
import { murmur2 } from "../../../../src/kafka/wire/murmur2.ts";
import { packRecord } from "../../../../src/kafka/wire/pack-record.ts";
import {
  varintBytes,
  varlongBytes,
  writeVarint,
  writeVarlong,
} from "../../../../src/kafka/wire/varint.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { decode, encodeBatch, fetched } from "../../../support/build/record-batches.ts";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const nullable = fc.option(bytes, { nil: null });
// An object keeps the order of its keys, except for keys that look like integers.
const name = fc
  .string({ maxLength: 20 })
  .filter((text) => !/^\d+$/.test(text) && text !== "__proto__");
const timestamp = fc.integer({ min: 1_000_000_000_000, max: 9_000_000_000_000 });
/** @platformatic/kafka can only write ascending times that are less than 25 days apart. */
const near = fc.integer({ min: 1_000_000_000_000, max: 1_002_000_000_000 });

const message = fc.record({
  key: nullable,
  value: nullable,
  headers: fc.uniqueArray(fc.tuple(name, bytes), { selector: ([key]) => key, maxLength: 5 }),
  timestamp,
});

test("writes the bytes that @platformatic/kafka writes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .tuple(fc.array(message, { minLength: 1 }), near)
        .map(([all, from]) => all.map((each, at) => ({ ...each, timestamp: from + at * 1_000 }))),
      fc.nat(1_000_000),
      async (written, producerId) => {
        const batch = await encodeBatch(written, { producerId });
        const expected = createRecordsBatch(
          written.map(({ headers, timestamp: time, ...rest }) => ({
            ...(rest as { readonly key: Buffer; readonly value: Buffer }),
            topic: "t",
            headers: new Map(headers.map(([key, value]) => [Buffer.from(key), value])),
            timestamp: BigInt(time),
          })),
          { producerId: BigInt(producerId), producerEpoch: 0, firstSequence: 0 },
        );
        expect(batch.equals(expected.buffer)).toBe(true);
      },
    ),
    { numRuns: costlyInputs(10, 2_000) },
  );
});

const anyHeaders = fc.array(fc.tuple(fc.string(), nullable), { maxLength: 5 });

test.each([0, 1, 2, 3, 4])(
  "what is written with compression %i is read again",
  async (compression) => {
    const messages = fc.array(
      fc.record({
        key: nullable,
        value: nullable,
        headers: anyHeaders,
        sharedHeaders: anyHeaders,
        timestamp,
      }),
      { minLength: 1 },
    );
    await fc.assert(
      fc.asyncProperty(messages, fc.nat(2 ** 40), async (written, baseOffset) => {
        const read = await decode(await encodeBatch(written, { compression, baseOffset }));
        expect(
          read.map(({ key, value, headers, timestampMs }) => [key, value, headers, timestampMs]),
        ).toEqual(
          written.map(({ key, value, headers, sharedHeaders, timestamp: time }) => [
            key,
            value,
            [...sharedHeaders, ...headers],
            time,
          ]),
        );
        expect(read.map(({ offset }) => offset)).toEqual(
          written.map((_, index) => baseOffset + index),
        );
      }),
      { numRuns: costlyInputs(20, 1_000) },
    );
  },
);

const outgoing = fc.record(
  {
    topic: fc.constantFrom("t", "u"),
    key: nullable,
    value: nullable,
    headers: anyHeaders,
    sharedHeaders: anyHeaders,
    partition: fc.nat(5),
  },
  { requiredKeys: ["topic", "key", "value", "headers"] },
);

test("a packed record says and becomes what the record itself does", async () => {
  const largest = fc.uint8Array({ minLength: 60_000, maxLength: 70_000 });
  const large = fc
    .tuple(outgoing, largest)
    .map(([record, value]) => ({ ...record, value: Buffer.from(value) }));
  const records = fc.array(fc.oneof({ weight: 20, arbitrary: outgoing }, large), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(records, async (written) => {
      const packed = written.map(packRecord);
      // All records are checked at the end, because packing a record must not change an earlier one.
      packed.forEach((each, index) => {
        const { topic, partition, key, value, headers, sharedHeaders = [] } = written[index] ?? {};
        expect([each.topic, each.partition]).toEqual([topic, partition]);
        expect([each.key, each.value]).toEqual([key, value]);
        expect(each.headers).toEqual([...sharedHeaders, ...(headers ?? [])]);
      });
      expect((await encodeBatch(packed)).equals(await encodeBatch(written))).toBe(true);
    }),
    { numRuns: costlyInputs(20, 1_000) },
  );
});

test("a record that is forwarded is written as it came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(outgoing, { minLength: 1 }), async (written) => {
      const batch = await encodeBatch(written);
      const forward = (await fetched(batch)).map((record) => forwarded(record, "elsewhere"));
      expect((await encodeBatch(forward)).equals(batch)).toBe(true);
    }),
    { numRuns: costlyInputs(20, 1_000) },
  );
});

test("murmur2 agrees with another implementation on every key", () => {
  fc.assert(
    fc.property(bytes, (key) => {
      expect(murmur2(key)).toBe(expectedMurmur2(key) | 0);
    }),
  );
});

/** Zigzag: the sign comes last, in groups of seven bits from the lowest. */
function expectedVarint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

test("numbers have the bytes of Protocol Buffers' signed integers", () => {
  const target = Buffer.alloc(10);
  fc.assert(
    fc.property(fc.integer(), fc.maxSafeInteger(), (small, large) => {
      const varint = expectedVarint(BigInt(small));
      expect(target.subarray(0, writeVarint(target, 0, small))).toEqual(varint);
      expect(varintBytes(small)).toBe(varint.length);
      const varlong = expectedVarint(BigInt(large));
      expect(target.subarray(0, writeVarlong(target, 0, large))).toEqual(varlong);
      expect(varlongBytes(large)).toBe(varlong.length);
    }),
  );
});
