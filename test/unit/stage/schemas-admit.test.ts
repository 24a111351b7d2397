// One test for each row of the file's table, and for the ends of a look-up.

import { beforeEach, expect, test } from "vitest";

import { decodeValue } from "../../../src/domain/decode.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";
import { schemasAdmit } from "../../../src/stage/schemas-admit.ts";
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
  handler = schemasAdmit(schemas, inner, (thrown) => failures.push(thrown))(PARTITION);
});

const record = (value: Buffer | null): IncomingRecord => ({
  ...{ topic: "t", partition: 0, offset: 0, timestampMs: 0, key: null, value, headers: [] },
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
  expect(schemasAdmit(undefined, onAssigned, () => undefined)).toBe(onAssigned);
});

test("what has no schema, or one that is known or refused, is admitted", () => {
  schemas.learnAvro(7, "long");
  schemas.learn(8, UNKNOWN);
  const values = [Buffer.from('{"a":1}'), framed(7, varint(5n)), framed(8, varint(5n)), null];
  const contents = [...values, Buffer.of(0, 0)].map((value) => contentOf(admit(record(value))));
  expect(contents).toEqual([{ a: 1 }, 5, "unknown-schema", "undecodable", "unknown-schema"]);
  expect(schemas.asked).toEqual([]);
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
  // A record keeps the schema that it was admitted with.
  expect(contentOf(admitted)).toBe(5);
  expect(contentOf(admit(LONG))).toBe("waits");
});

test("records that were admitted are handed over as they are", () => {
  const records = [LONG, record(null)];
  handler.take(records);
  expect(taken).toEqual(records);
});

test("a drain gives the look-up up, and drains the stage", async () => {
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

test("a fault of the look-up is told, and the record is not asked for again", async () => {
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
