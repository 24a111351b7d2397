import { expect, test } from "vitest";
import {
  type LedgerRecord,
  ledgerRecord,
  parseLedgerRecord,
} from "../../../../src/router/ledger/ledger-record.ts";
import { identityOf, type Outcome, Tallies } from "../../../../src/router/ledger/tallies.ts";

function sumsOf(tallies: Tallies): unknown[] {
  const sums: unknown[] = [];
  tallies.each((...each) =>
    sums.push(structuredClone({ each: each.slice(0, 3), sum: { ...each[3] } })),
  );
  return sums;
}

function someRecord(isLast: boolean): LedgerRecord {
  const tallies = new Tallies();
  const at = Date.parse("2026-11-29T12:00:00Z");
  for (const outcome of ["in", "queued", "dead:rejected"] satisfies Outcome[]) {
    tallies.add("crm", outcome, identityOf("m1", at));
    tallies.add("crm", outcome, identityOf("m2", at + 600_000));
  }
  const place = { topic: "calls", partition: 2, topicId: "abc" };
  const start = { offset: 7, isOurs: false };
  return {
    group: "route",
    process: "pod-1",
    number: 3,
    read: [
      { ...place, ranges: [[7, 9]], start },
      { ...place, partition: 3, topicId: "", ranges: isLast ? [] : [[1, 2]] },
    ],
    isLast,
    tallies,
  };
}

test.each([true, false])("a record is read as it was written (the last one: %s)", (isLast) => {
  const record = someRecord(isLast);
  const { topic, key, value } = ledgerRecord("ledger", record);
  expect([topic, key?.toString()]).toEqual(["ledger", "route"]);
  const parsed = parseLedgerRecord(value);
  expect({ ...parsed, tallies: null }).toEqual({ ...record, tallies: null });
  expect(sumsOf(parsed?.tallies ?? new Tallies())).toEqual(sumsOf(record.tallies));
});

const good = {
  group: "route",
  process: "p",
  number: 0,
  read: [{ topic: "calls", partition: 0, ranges: [[0, 1]] }],
  sums: [[1, "crm", "in", 1, "0123456789abcdef"]],
};

test.each<[string, unknown]>([
  ["no JSON", "{"],
  ["no object", []],
  ["no group", { ...good, group: undefined }],
  ["no process", { ...good, process: 1 }],
  ["no number", { ...good, number: "0" }],
  ["ranges that are no list", { ...good, read: [{ ...good.read[0], ranges: {} }] }],
  ["an empty range", { ...good, read: [{ ...good.read[0], ranges: [[1, 1]] }] }],
  ["a negative offset", { ...good, read: [{ ...good.read[0], ranges: [[-1, 1]] }] }],
  ["no partition", { ...good, read: [{ topic: "calls", ranges: [] }] }],
  ["a bin that is no number", { ...good, sums: [["1", "crm", "in", 1, "0123456789abcdef"]] }],
  ["a sum that is too short", { ...good, sums: [[1, "crm", "in", 1, "012"]] }],
  ["a negative count", { ...good, sums: [[1, "crm", "in", -1, "0123456789abcdef"]] }],
  ["a sum that is no list", { ...good, sums: [{}] }],
])("a value with %s is not a ledger record", (_what, value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  expect(parseLedgerRecord(Buffer.from(text))).toBeNull();
});

test("a record without a value is not a ledger record", () => {
  expect(parseLedgerRecord(null)).toBeNull();
  expect(parseLedgerRecord(Buffer.from(JSON.stringify(good)))).not.toBeNull();
});
