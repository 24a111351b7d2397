// One test for each row of the file's table, and for the waits between them.

import { beforeEach, expect, test } from "vitest";

import { decodeValue } from "../../../src/domain/decode.ts";
import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";
import { schemasFirst } from "../../../src/stage/await-schemas.ts";
import { framed, varint } from "../../support/build/avro.ts";
import { MemorySchemas, UNKNOWN } from "../../support/worlds/memory-schemas.ts";

const PARTITION: AssignedPartition = {
  topic: "t",
  partition: 0,
  topicId: () => "",
  finish: () => undefined,
  hold: () => undefined,
  isOurs: () => Promise.resolve(true),
};

let schemas = new MemorySchemas();
let taken: IncomingRecord[] = [];
let batches = 0;
let drains = 0;
let failures: unknown[] = [];
let handler: PartitionHandler = inner();

function inner(): PartitionHandler {
  return {
    take: (records) => {
      batches += 1;
      taken.push(...records);
    },
    drain: () => {
      drains += 1;
      return Promise.resolve();
    },
  };
}

beforeEach(() => {
  [schemas, taken, batches, drains, failures] = [new MemorySchemas(), [], 0, 0, []];
  const fail = (thrown: unknown) => failures.push(thrown);
  handler = schemasFirst(schemas, inner, fail)(PARTITION);
});

const record = (
  offset: number,
  value: Buffer | null,
  headers: RecordHeaders = [],
): IncomingRecord => ({
  ...{ topic: "t", partition: 0, offset, timestampMs: offset, key: null, value, headers },
});
const long = (id: number, number: number) => framed(id, varint(BigInt(number)));
const offsets = () => taken.map(({ offset }) => offset);
const jsons = () =>
  taken.map((each) => {
    const decoded = decodeValue(each);
    return decoded.kind === "json" ? decoded.json : decoded.reason;
  });
/** Everything has run that can run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("without a registry nothing stands between a consumer and its stage", () => {
  const onAssigned = () => inner();
  expect(schemasFirst(undefined, onAssigned, () => undefined)).toBe(onAssigned);
});

test("what has no schema, or one that is known, is handed over at once", () => {
  schemas.learnAvro(7, "long");
  schemas.learn(8, UNKNOWN);
  const header = ["__value_schema_id", Buffer.of(0, 0, 0, 0, 7)] as const;
  handler.take([
    record(0, Buffer.from('{"a":1}')),
    record(1, long(7, 5)),
    record(2, long(8, 5)),
    record(3, null),
    record(4, varint(6n), [header]),
    record(5, Buffer.of(0, 0)),
    record(6, Buffer.from("{}"), [["__value_schema_id", Buffer.of(9)]]),
  ]);
  expect(batches).toBe(1);
  expect(jsons()).toEqual([
    { a: 1 },
    5,
    "unknown-schema",
    "undecodable",
    6,
    "unknown-schema",
    "undecodable",
  ]);
  expect(schemas.asked).toEqual([]);
});

test("a record with its schema is the same in everything else", () => {
  schemas.learnAvro(7, "long");
  const headers = [["h", Buffer.from("1")]] as const;
  const omitted = { bytes: 9, cut: { keyBytes: null, valueBytes: 9, headers: null } };
  const given = { ...record(3, long(7, 5), headers), key: Buffer.from("k"), omitted };
  handler.take([given]);
  const [same] = taken;
  for (const field of ["topic", "partition", "offset", "timestampMs", "key"] as const) {
    expect(same?.[field]).toBe(given[field]);
  }
  expect(same?.value).toBe(given.value);
  expect(same?.headers).toBe(given.headers);
  expect(same?.omitted).toBe(omitted);
  expect(same?.encoded).toBeUndefined();
  const reported: string[] = [];
  same?.eachHeader?.((name) => reported.push(name));
  expect(reported).toEqual(["h"]);
});

test("records wait behind one whose schema is not known yet, in order", async () => {
  handler.take([record(0, Buffer.from("1")), record(1, long(7, 2)), record(2, Buffer.from("3"))]);
  handler.take([record(3, Buffer.from("4"))]);
  await settled();
  expect(offsets()).toEqual([0]);
  expect(schemas.asked).toEqual([[7]]);
  schemas.learnAvro(7, "long");
  await settled();
  handler.take([record(4, long(7, 5))]);
  await settled();
  expect(jsons()).toEqual([1, 2, 3, 4, 5]);
  expect(failures).toEqual([]);
});

test("the schemas of a batch are asked for together, at most 100 at once", async () => {
  handler.take(Array.from({ length: 120 }, (_, at) => record(at, long(at + 1, at))));
  await settled();
  expect(schemas.asked.map((refs) => refs.length)).toEqual([100]);
  for (let id = 1; id <= 120; id += 1) schemas.learnAvro(id, "long");
  await settled();
  expect(offsets()).toEqual(Array.from({ length: 120 }, (_, at) => at));
});

test("a schema that is forgotten while records wait is asked for again", async () => {
  handler.take([record(0, long(7, 1)), record(1, long(8, 2)), record(2, long(7, 3))]);
  await settled();
  schemas.learnAvro(7, "long");
  schemas.learnAvro(8, "long");
  schemas.forget(7);
  await settled();
  expect(offsets()).toEqual([]);
  schemas.learnAvro(7, "long");
  await settled();
  expect(jsons()).toEqual([1, 2, 3]);
  schemas.forget(7);
  // A record keeps the schema that it was handed over with.
  expect(jsons()).toEqual([1, 2, 3]);
});

test("a drain leaves what waits, and takes nothing more", async () => {
  handler.take([record(0, long(7, 1))]);
  await settled();
  await handler.drain();
  schemas.learnAvro(7, "long");
  handler.take([record(1, Buffer.from("1"))]);
  await settled();
  expect(offsets()).toEqual([]);
  expect({ drains, waiting: schemas.waiting, failures }).toEqual({
    drains: 1,
    waiting: 0,
    failures: [],
  });
});

test("a fault of the look-up is told, and nothing is handed over", async () => {
  const fault = new Error("broken");
  schemas.ready = () => Promise.reject(fault);
  handler.take([record(0, long(7, 1))]);
  await settled();
  expect(failures).toEqual([fault]);
  expect(offsets()).toEqual([]);
});

test("partitions wait alone", async () => {
  const other = schemasFirst(schemas, inner, (thrown) => failures.push(thrown))(PARTITION);
  handler.take([record(0, long(7, 1))]);
  other.take([record(9, Buffer.from("1"))]);
  await settled();
  expect(offsets()).toEqual([9]);
});
