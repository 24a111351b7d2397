// Values as commands write them are recognized without being parsed. This must not change how any record is read.

import fc from "fast-check";
import { test } from "vitest";
import {
  readSuppression,
  suppressionRecord,
} from "../../../../src/router/suppression/suppression-record.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";
import { stored } from "../../../support/build/suppressions.ts";

const numRuns = GENERATED_INPUTS;
const TOPIC = "sw.suppressions";
const NOTHING = Buffer.alloc(0);
const AT_MS = Date.parse("2026-03-01T09:30:15.250Z");

/** The kind of the record and its user. Errors contain positions in the value. */
function read(key: Buffer, value: Buffer) {
  const found = readSuppression(stored({ key, value }));
  return "userId" in found ? [found.kind, found.userId] : [found.kind];
}

/** With a space after it, a value is not recognized, but means the same. */
function isReadTheSame(key: Buffer, value: Buffer): boolean {
  const parsed = read(key, Buffer.concat([value, Buffer.from(" ")]));
  return JSON.stringify(read(key, value)) === JSON.stringify(parsed);
}

const userId = fc
  .oneof(
    fc.string({ minLength: 1 }),
    fc.string({ minLength: 1, unit: "binary" }),
    fc.string({ minLength: 1, unit: fc.constantFrom("a", "n", "\\", "\\u0041", '"', "\t", "é") }),
  )
  .filter((text) => text.isWellFormed());
const reason = fc.option(fc.oneof(fc.string(), fc.string({ unit: "binary" })));
const written = fc.record({ userId, reason }).map((given) => {
  const { key, value } = suppressionRecord(TOPIC, { ...given, suppressedAtMs: AT_MS });
  return [key ?? NOTHING, value ?? NOTHING] as const;
});

test("a record as commands write it is read as if its value was parsed", () => {
  fc.assert(
    fc.property(written, ([key, value]) => isReadTheSame(key, value)),
    { numRuns },
  );
});

test("so is a record of a program that does not escape the ID", () => {
  const unescaped = (text: string) =>
    Buffer.from(`{"userId":"${text}","suppressedAt":"2026-03-01T09:30:15.250Z"}`);
  fc.assert(
    fc.property(userId, (text) => isReadTheSame(Buffer.from(text), unescaped(text))),
    { numRuns },
  );
});

test("so is a record in which some bytes were replaced, inserted or removed", () => {
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 3 }),
    inserted: fc.uint8Array({ maxLength: 3 }),
  });
  type Edits = readonly { at: number; removed: number; inserted: Uint8Array }[];
  const edited = (bytes: Buffer, edits: Edits) =>
    edits.reduce((now, { at, removed, inserted }) => {
      const from = at % (now.length + 1);
      return Buffer.concat([now.subarray(0, from), inserted, now.subarray(from + removed)]);
    }, bytes);
  const edits = fc.array(edit, { maxLength: 3 });
  fc.assert(
    fc.property(written, edits, edits, ([key, value], ofKey, ofValue) =>
      isReadTheSame(edited(key, ofKey), edited(value, ofValue)),
    ),
    { numRuns },
  );
});
