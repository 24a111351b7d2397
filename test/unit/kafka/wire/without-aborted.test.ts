import { expect, test } from "vitest";

import { withoutAborted } from "../../../../src/kafka/wire/without-aborted.ts";

const ZEROS = Buffer.alloc(4);
const COMMIT = Buffer.from([0, 0, 0, 1]);

function record(
  offset: number,
  producerId: number,
  options: { key?: Buffer; control?: boolean; plain?: boolean } = {},
) {
  return {
    offset: `${offset}`,
    key: options.key ?? null,
    isControlRecord: options.control ?? false,
    batchContext: { producerId: `${producerId}`, inTransaction: !options.plain },
  };
}

const abort = (offset: number, producer: number) =>
  record(offset, producer, { key: ZEROS, control: true });
const aborted = (firstOffset: number, producerId: number) => ({
  firstOffset: `${firstOffset}`,
  producerId: `${producerId}`,
});
const kept = (messages: ReturnType<typeof record>[], transactions: ReturnType<typeof aborted>[]) =>
  withoutAborted(messages, transactions).map(({ offset }) => Number(offset));

test("without aborted transactions nothing is omitted", () => {
  expect(kept([record(1, 7)], [])).toEqual([1]);
});

test("an aborted transaction is omitted up to its marker, others are not", () => {
  const messages = [
    record(0, 7),
    record(1, 8),
    record(2, 7, { plain: true }),
    abort(3, 7),
    record(4, 7),
  ];
  expect(kept(messages, [aborted(0, 7)])).toEqual([1, 2, 3, 4]);
});

test("a record with a key of four zero bytes ends no transaction", () => {
  const messages = [record(0, 7, { key: ZEROS }), record(1, 7), abort(2, 7)];
  expect(kept(messages, [aborted(0, 7)])).toEqual([2]);
});

test("a commit marker ends no aborted transaction", () => {
  const commit = record(1, 7, { key: COMMIT, control: true });
  expect(kept([record(0, 7), commit, record(2, 7)], [aborted(0, 7)])).toEqual([1]);
});

test("several transactions that began before the first record are all omitted", () => {
  // The fetch started at offset 10. Both producers are known, whichever producer's record is first.
  const messages = [record(10, 8), record(11, 7), abort(12, 8), abort(13, 7), record(14, 8)];
  expect(kept(messages, [aborted(5, 7), aborted(3, 8)])).toEqual([12, 13, 14]);
});

test("aborted transactions are listed in the order of their ends, not of their beginnings", () => {
  // Producer 8 started later and aborted first.
  const messages = [record(0, 7), record(1, 8), abort(2, 8), record(3, 7), abort(4, 7)];
  expect(kept(messages, [aborted(1, 8), aborted(0, 7)])).toEqual([2, 4]);
});

test("message sets know no transactions", () => {
  const messages = [{ offset: "0", key: ZEROS }];
  expect(withoutAborted(messages, [aborted(0, 7)])).toEqual(messages);
});
