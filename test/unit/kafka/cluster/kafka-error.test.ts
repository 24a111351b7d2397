import { describe, expect, test } from "vitest";
import {
  errorKind,
  errorSentence,
  errorTypes,
  retryDelayMs,
} from "../../../../src/kafka/cluster/kafka-error.ts";

function error(fields: { name?: string; type?: string; retriable?: boolean }, cause?: unknown) {
  return Object.assign(new Error("something"), fields, cause === undefined ? {} : { cause });
}

describe("the problem that an error means", () => {
  test.each([
    [error({ name: "ConnectionError" }), "outage"],
    [error({ name: "RequestTimeoutError" }), "outage"],
    [error({ name: "TokenError" }), "outage"],
    [error({ type: "LEADER_NOT_AVAILABLE", retriable: true }), "outage"],
    [error({ type: "COORDINATOR_LOAD_IN_PROGRESS", retriable: true }), "outage"],
    [error({}, error({ name: "ConnectionError" })), "outage"],
    [error({ type: "REBALANCE_IN_PROGRESS", retriable: false }), "rebalance"],
    [error({ type: "UNKNOWN_MEMBER_ID", retriable: false }), "rebalance"],
    [error({}, error({}, error({ type: "UNKNOWN_TOPIC_OR_PARTITION", retriable: true }))), "fatal"],
    [error({ type: "TOPIC_AUTHORIZATION_FAILED" }), "fatal"],
    [error({ type: "GROUP_AUTHORIZATION_FAILED" }), "fatal"],
    [error({ name: "AuthenticationError" }), "fatal"],
    [error({ name: "CorruptBatchError", retriable: false }), "fatal"],
    [new TypeError("Cannot read properties of undefined"), "unknown"],
    [error({ type: "UNKNOWN_SERVER_ERROR", retriable: false }), "unknown"],
    ["no error at all", "unknown"],
  ])("%s", (given, healthProblem) => {
    expect(errorKind(given)).toBe(healthProblem);
  });
});

test("types are found in causes and in lists", () => {
  const nested = error({}, error({ type: "A" }));
  const listed = Object.assign(new Error("several"), { errors: [error({ type: "B" }), nested] });
  expect(errorTypes(listed)).toEqual(new Set(["A", "B"]));
  expect(errorTypes(null)).toEqual(new Set());
});

test("a sentence names what is in lists", () => {
  const errors = [Object.assign(new Error("it exists"), { topic: "a" }), new Error("no right")];
  const several = Object.assign(new Error("Topic creation errors"), { errors });
  expect(errorSentence(several)).toBe("Topic creation errors: a: it exists; no right");
  expect(errorSentence(new Error("alone"))).toBe("alone");
});

test("an error that is its own cause ends", () => {
  const round = error({ type: "A" });
  Object.assign(round, { cause: round });
  expect(errorTypes(round)).toEqual(new Set(["A"]));
});

test("retries wait longer and longer, two seconds at most", () => {
  expect([1, 2, 3, 6, 100, 10_000].map(retryDelayMs)).toEqual([100, 200, 400, 2000, 2000, 2000]);
});
