// A test per row of the file's table.

import { expect, test } from "vitest";

import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { Admission } from "../../../../src/kafka/consume/admission.ts";
import type { PartitionHandler } from "../../../../src/kafka/port.ts";

const RECORD = {
  ...{ topic: "t", partition: 0, offset: 0, timestampMs: 0, key: null, value: null, headers: [] },
} satisfies IncomingRecord;

function handler(admit?: PartitionHandler["admit"]): PartitionHandler {
  const base = { take: () => undefined, drain: () => Promise.resolve() };
  return admit === undefined ? base : { ...base, admit };
}

test("a handler that does not say admits every record, as it is", () => {
  const admission = new Admission(handler(), () => undefined);
  expect(admission.admit(RECORD)).toBe(RECORD);
  expect(admission.isWaiting).toBe(false);
});

test("the record that the handler gives is handed over", () => {
  const other = { ...RECORD, value: Buffer.from("other") };
  const admission = new Admission(
    handler(() => other),
    () => undefined,
  );
  expect(admission.admit(RECORD)).toBe(other);
});

test("with a promise the record waits until that resolves; then somebody is told, once", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let told = 0;
  const admission = new Admission(
    handler(() => promise),
    () => {
      told += 1;
    },
  );
  expect(admission.admit(RECORD)).toBeNull();
  expect({ isWaiting: admission.isWaiting, told }).toEqual({ isWaiting: true, told: 0 });
  resolve();
  await promise;
  expect({ isWaiting: admission.isWaiting, told }).toEqual({ isWaiting: false, told: 1 });
});
