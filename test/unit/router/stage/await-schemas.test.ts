// One test for each row of the file's table, and for how a wait ends.

import { beforeEach, expect, test } from "vitest";

import { decodeValue } from "../../../../src/domain/decode.ts";
import type { SchemaRef } from "../../../../src/domain/known-schemas.ts";
import type { IncomingRecord, RecordHeaders } from "../../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../../src/kafka/port.ts";
import { awaitSchemas } from "../../../../src/router/stage/await-schemas.ts";
import { framed, varint } from "../../../support/build/avro.ts";
import { MemorySchemas, UNKNOWN } from "../../../support/worlds/memory-schemas.ts";

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
let drains = 0;
let failures: unknown[] = [];
let handler: PartitionHandler = inner();

function inner(): PartitionHandler {
  return {
    take: (records) => taken.push(...records),
    drain: () => {
      drains += 1;
      return Promise.resolve();
    },
  };
}

beforeEach(() => {
  [schemas, taken, drains, failures] = [new MemorySchemas(), [], 0, []];
  handler = awaitSchemas(schemas, inner, (thrown) => failures.push(thrown))(PARTITION);
});

const record = (value: Buffer | null, headers: RecordHeaders = []): IncomingRecord => ({
  ...{ topic: "t", partition: 0, offset: 0, timestampMs: 0, key: null, value, headers },
});
const LONG = record(framed(7, varint(5n)));
const admit = (given: IncomingRecord) => handler.admit?.(given);
const settled = () => new Promise((resolve) => setImmediate(resolve));

function contentOf(admitted: ReturnType<typeof admit>): unknown {
  if (admitted === undefined || admitted instanceof Promise) return "waits";
  const decoded = decodeValue(admitted);
  return decoded.kind === "json" ? decoded.json : decoded.reason;
}

test("without a registry nothing stands between a consumer and its stage", () => {
  const onAssigned = () => inner();
  expect(awaitSchemas(undefined, onAssigned, () => undefined)).toBe(onAssigned);
});

test("what has no schema, or one that is known or rejected, is admitted", () => {
  schemas.learnAvro(7, "long");
  schemas.learn(8, UNKNOWN);
  const header = (bytes: Buffer) => [["__value_schema_id", bytes]] as const;
  const records = [
    record(Buffer.from('{"a":1}')),
    record(framed(7, varint(5n))),
    record(framed(8, varint(5n))),
    record(null),
    record(Buffer.of(0, 0)),
    record(varint(6n), header(Buffer.of(0, 0, 0, 0, 7))),
    record(Buffer.from("{}"), header(Buffer.of(9))),
  ];
  expect(records.map((each) => contentOf(admit(each)))).toEqual([
    { a: 1 },
    5,
    "unknown-schema",
    "undecodable",
    "unknown-schema",
    6,
    "undecodable",
  ]);
  expect(schemas.asked).toEqual([]);
});

test("a record with its schema is the same in everything else", () => {
  schemas.learnAvro(7, "long");
  const headers = [["h", Buffer.from("1")]] as const;
  const omitted = { bytes: 9, cut: { keyBytes: null, valueBytes: 9, headers: null } };
  const given = { ...record(framed(7, varint(5n)), headers), key: Buffer.from("k"), omitted };
  const same = admit(given);
  if (same === undefined || same instanceof Promise) throw new Error("it waits");
  for (const field of ["topic", "partition", "offset", "timestampMs", "key", "value"] as const) {
    expect(same[field]).toBe(given[field]);
  }
  expect(same.headers).toBe(given.headers);
  expect(same.omitted).toBe(omitted);
  expect(same.encoded).toBeUndefined();
  const reported: string[] = [];
  same.eachHeader?.((name) => reported.push(name));
  expect(reported).toEqual(["h"]);
});

test("one that is not known yet waits for its schema, which is asked for", async () => {
  const waiting = admit(LONG);
  expect(contentOf(waiting)).toBe("waits");
  expect(schemas.asked).toEqual([[7]]);
  schemas.learnAvro(7, "long");
  await waiting;
  const admitted = admit(LONG);
  expect(contentOf(admitted)).toBe(5);
  schemas.forget(7);
  // A record keeps the schema with which it was admitted.
  expect(contentOf(admitted)).toBe(5);
  expect(contentOf(admit(LONG))).toBe("waits");
});

test("admitted records are passed on as they are", () => {
  const records = [LONG, record(null)];
  handler.take(records);
  expect(taken).toEqual(records);
});

test("a drain cancels the wait for a schema, and drains the stage", async () => {
  void admit(LONG);
  expect(schemas.waiting).toBe(1);
  await handler.drain();
  await settled();
  expect({ drains, waiting: schemas.waiting, failures }).toEqual({
    drains: 1,
    waiting: 0,
    failures: [],
  });
});

test("a failure of the registry client is reported, and the record is not asked for again", async () => {
  const fault = new Error("broken");
  schemas.ready = () => Promise.reject(fault);
  let isOver = false;
  const waiting = admit(LONG);
  if (waiting instanceof Promise)
    void waiting.then(() => {
      isOver = true;
    });
  await settled();
  expect({ failures, isOver }).toEqual({ failures: [fault], isOver: false });
});

/** Records whose values have the schemas 1 to `count`, without the first one. */
function recordsAhead(count: number): readonly IncomingRecord[] {
  return Array.from({ length: count - 1 }, (_, index) => record(framed(index + 2, varint(5n))));
}

const FIRST = record(framed(1, varint(5n)));

test("while one waits, the schemas of those behind it are requested: seven at a time, each once", async () => {
  schemas.learnAvro(4, "long");
  const plain = record(Buffer.from("{}"));
  const ahead = [plain, FIRST, ...recordsAhead(20), ...recordsAhead(20), record(null)];
  void handler.admit?.(FIRST, () => ahead);
  const requested = new Set<unknown>();
  while (requested.size < 18) {
    const { ahead: inProgress } = schemas;
    expect(inProgress.size).toBeLessThanOrEqual(7);
    for (const [ref, respond] of inProgress) {
      expect(requested.has(ref)).toBe(false);
      requested.add(ref);
      respond();
    }
    await settled();
  }
  await settled();
  expect(schemas.ahead.size).toBe(0);
  expect([...requested].sort()).not.toContain(4);
  expect(schemas.asked).toEqual([[1]]);
});

test("of a flood of schemas, some are found and 5,000 requested; a drain ends the requests", async () => {
  const asked: SchemaRef[] = [];
  let finds = false;
  const source = {
    ...schemas,
    get: (ref: SchemaRef) => schemas.get(ref),
    ready: () => new Promise<void>(() => undefined),
    request: (ref: SchemaRef) => {
      asked.push(ref);
      if (finds)
        schemas.learn(ref, { kind: "schema", read: () => ({ kind: "refused", error: "" }) });
      return Promise.resolve();
    },
  };
  const onAssigned = awaitSchemas(source as unknown as MemorySchemas, inner, () => undefined);
  void onAssigned(PARTITION).admit?.(FIRST, () => recordsAhead(20_000).values());
  await expect.poll(() => asked.length).toBe(4_999);
  finds = true;
  asked.length = 0;
  const other = onAssigned(PARTITION);
  void other.admit?.(FIRST, () => recordsAhead(20_000).values());
  await settled();
  expect(asked.length).toBeGreaterThanOrEqual(100);
  expect(asked.length).toBeLessThan(110);
  finds = false;
  asked.length = 0;
  const last = onAssigned(PARTITION);
  void last.admit?.(record(framed(20_001, varint(5n))), () => recordsAhead(20_000).values());
  await last.drain();
});
