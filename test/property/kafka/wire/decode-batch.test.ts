import { Reader, readRecordsBatches } from "@platformatic/kafka";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { DELIVERY_HEADER, deliveryHeaders, readDelivery } from "../../../../src/domain/delivery.ts";
import { eachHeader, type RecordHeader } from "../../../../src/domain/record.ts";
import type { OutgoingMessage } from "../../../../src/kafka/wire/encode-records.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { altered, decode, encodeBatch, fetched } from "../../../support/build/record-batches.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";

/** Each input is dozens of records. */
const numRuns = costlyInputs(10, 5_000);

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
const nullable = fc.option(bytes, { nil: null });
const messages = fc.array(
  fc.record({
    key: nullable,
    value: nullable,
    headers: fc.array(fc.tuple(fc.string({ maxLength: 8 }), bytes), { maxLength: 4 }),
    timestamp: fc.integer({ min: 0, max: 9_000_000_000_000 }),
  }),
  { minLength: 1, maxLength: 20 },
);
const batches = fc.array(messages, { minLength: 1, maxLength: 4 });

async function encodeAll(all: readonly (readonly OutgoingMessage[])[]): Promise<Buffer[]> {
  let baseOffset = 0;
  const encoded: Buffer[] = [];
  for (const batch of all) {
    encoded.push(await encodeBatch(batch, { baseOffset }));
    baseOffset += batch.length;
  }
  return encoded;
}

test("reads what @platformatic/kafka reads", async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const records = Buffer.concat(await encodeAll(all));
      const expected = readRecordsBatches(Reader.from(records)).flatMap((batch) =>
        batch.records.map(({ key, value, headers, offsetDelta, timestampDelta }) => ({
          offset: Number(batch.firstOffset) + offsetDelta,
          timestampMs: Number(batch.firstTimestamp + timestampDelta),
          ...{ key, value, producerId: `${batch.producerId}` },
          headers: headers.map(([name, content]) => [`${name ?? ""}`, content ?? Buffer.alloc(0)]),
        })),
      );
      const actual = await decode(records);
      const read = actual.map(({ offset, timestampMs, key, value, headers, batchContext }) => {
        return { offset, timestampMs, key, value, headers, producerId: batchContext.producerId };
      });
      expect(read).toEqual(expected);
    }),
    { numRuns },
  );
});

test("a cut-off batch at the end is left, those before it are read", async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), async (all, where) => {
      const encoded = await encodeAll(all);
      const first = encoded[0]?.length ?? 0;
      const records = Buffer.concat(encoded);
      const cut = first + (where % (records.length - first + 1));
      let whole = 0;
      let end = 0;
      for (const [index, batch] of encoded.entries()) {
        end += batch.length;
        if (end <= cut) whole += all[index]?.length ?? 0;
      }
      expect(await decode(records.subarray(0, cut))).toHaveLength(whole);
    }),
    { numRuns },
  );
});

test("no flipped bit behind the magic byte goes unnoticed", async () => {
  await fc.assert(
    fc.asyncProperty(messages, fc.nat(), async (written, where) => {
      const batch = await encodeBatch(written);
      const bit = 17 * 8 + (where % ((batch.length - 17) * 8));
      const at = bit >> 3;
      batch[at] = (batch[at] ?? 0) ^ (1 << (bit & 7));
      await expect(decode(batch)).rejects.toThrow(CorruptBatchError);
    }),
    { numRuns },
  );
});

test("with a right checksum, no bytes make it do anything but read or report a corrupt batch", async () => {
  await fc.assert(
    fc.asyncProperty(
      messages,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }),
      async (written, changes) => {
        const batch = altered(await encodeBatch(written), (copy) => {
          for (const [where, byte] of changes) copy[61 + (where % (copy.length - 61))] = byte;
        });
        const outcome = await decode(batch).catch((error: unknown) => error);
        expect(Array.isArray(outcome) || outcome instanceof CorruptBatchError).toBe(true);
      },
    ),
    { numRuns },
  );
});

const headerName = fc.oneof(
  fc.constantFrom(...Object.values(DELIVERY_HEADER)),
  fc.string({ maxLength: 6 }),
);
const headerValue = fc.option(
  fc.oneof(
    bytes,
    fc.constantFrom("d1", "größe", "", "-7", "1772357415250").map((text) => Buffer.from(text)),
  ),
  { nil: null },
);

test("a delivery read from a record is the one that its headers make", async () => {
  const delivery = deliveryOf({});
  const record = fc.record({
    key: nullable,
    value: nullable,
    headers: fc.tuple(
      fc.constantFrom([], deliveryHeaders(delivery)),
      fc.array(fc.tuple(headerName, headerValue), { maxLength: 40 }),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 5 }), async (written) => {
      const messages = written.map(({ headers, ...rest }) => ({
        ...rest,
        headers: headers.flat() as RecordHeader[],
      }));
      for (const [index, read] of (await fetched(await encodeBatch(messages))).entries()) {
        expect(read.headers).toEqual(messages[index]?.headers);
        const reported: RecordHeader[] = [];
        eachHeader(read, (name, from, start, end) => {
          reported.push([name, start < 0 ? null : Buffer.from(from.subarray(start, end))]);
        });
        expect(reported).toEqual(read.headers);
        expect(readDelivery(read)).toEqual(readDelivery({ headers: read.headers }));
      }
    }),
    { numRuns },
  );
});
