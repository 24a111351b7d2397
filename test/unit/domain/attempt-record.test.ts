// Records in the topic of attempts may be from other programs, so only the parts that can be shown are read.

import { expect, test } from "vitest";

import { parseAttemptRecord } from "../../../src/domain/attempt-record.ts";

const SMALLEST = {
  time: "2026-03-01T09:30:20.007Z",
  messageId: "m-1",
  destination: "crm",
  decision: "retry",
  attempt: 2,
};

function parsed(json: unknown) {
  return parseAttemptRecord(Buffer.from(JSON.stringify(json)));
}

test("the fields that name it are enough", () => {
  expect(parsed(SMALLEST)).toEqual({
    endedAtMs: Date.UTC(2026, 2, 1, 9, 30, 20, 7),
    messageId: "m-1",
    destination: "crm",
    attempt: 2,
    firstAttemptAtMs: null,
    decision: "retry",
    requests: [],
    batch: null,
    next: [],
  });
});

test.each([
  ["with ID and number", { id: "b", calls: 2 }, { id: "b", calls: 2 }],
  ["without ID", { calls: 2 }, null],
  ["with a text as number", { id: "b", calls: "2" }, null],
  ["a list", [], null],
])("a batch %s", (_name, batch, expected) => {
  expect(parsed({ ...SMALLEST, batch })?.batch).toEqual(expected);
});

test.each(["time", "messageId", "destination", "decision", "attempt"])("not without %s", (name) => {
  expect(parsed({ ...SMALLEST, [name]: undefined })).toBeNull();
  expect(parsed({ ...SMALLEST, [name]: {} })).toBeNull();
});

test.each([null, Buffer.from(""), Buffer.from("{"), Buffer.from("[1]"), Buffer.from("7")])(
  "%s is none",
  (value) => {
    expect(parseAttemptRecord(value)).toBeNull();
  },
);

test("an instant in another form is none", () => {
  expect(parsed({ ...SMALLEST, time: "Order 5" })).toBeNull();
  expect(parsed({ ...SMALLEST, time: "2026-99-01T09:30:20.007Z" })).toBeNull();
});

test("odd requests and waits are passed over, odd fields of them are absent", () => {
  const requests = [
    7,
    { endpoint: "k", status: "200", phases: { dnsMs: 1, bodyMs: "x", other: 3 } },
  ];
  const next = [
    { retryDelay: "10s" },
    { retryDelay: "10s", at: SMALLEST.time, endpoint: "k" },
    null,
  ];
  expect(parsed({ ...SMALLEST, requests, next })).toMatchObject({
    requests: [{ endpoint: "k", outcome: "", status: null, phases: { dnsMs: 1 } }],
    next: [{ retryDelay: "10s", atMs: Date.UTC(2026, 2, 1, 9, 30, 20, 7), endpoint: "k" }],
  });
  expect(parsed({ ...SMALLEST, requests: "no", next: {} })).toMatchObject({
    requests: [],
    next: [],
  });
});
