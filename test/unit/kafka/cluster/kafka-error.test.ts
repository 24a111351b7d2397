import { describe, expect, test } from "vitest";
import {
  errorKind,
  errorSentence,
  errorType,
  errorTypes,
  patienceMs,
  protocolError,
  retryDelayMs,
} from "../../../../src/kafka/cluster/kafka-error.ts";
import { ClosedError } from "../../../../src/kafka/port.ts";

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

const named = (name: string) => Object.assign(new Error("something"), { name });
const caused = (cause: unknown) => new Error("admin.create: something", { cause });
const listed = (...codes: readonly number[]) =>
  Object.assign(new Error("Topic creation errors"), {
    errors: codes.map((one) => protocolError(one)),
  });
const code = (type: string) => {
  const found = Array.from({ length: 100 }, (_, at) => at - 1).find((at) => errorType(at) === type);
  if (found === undefined) throw new Error(`there is no ${type}`);
  return found;
};
const forever = Number.POSITIVE_INFINITY;

describe("how long the start waits for", () => {
  test.each([
    [caused(named("ConnectionError")), forever],
    [caused(named("ConnectionClosedError")), forever],
    [caused(named("RequestTimeoutError")), forever],
    [new Error("admin.create: no response within 30000 ms"), forever],
    [new TypeError("Cannot read properties of undefined"), forever],
    ["no error at all", forever],
    [new ClosedError("admin.topics: the Kafka client is closed"), 0],
    [caused(named("AuthenticationError")), 0],
  ])("%s: %d ms", (error, ms) => {
    expect(patienceMs(error)).toBe(ms);
  });

  test.each([
    ["LEADER_NOT_AVAILABLE", forever],
    ["NOT_LEADER_OR_FOLLOWER", forever],
    ["NOT_CONTROLLER", forever],
    ["NOT_COORDINATOR", forever],
    ["COORDINATOR_LOAD_IN_PROGRESS", forever],
    ["COORDINATOR_NOT_AVAILABLE", forever],
    ["REQUEST_TIMED_OUT", forever],
    ["BROKER_NOT_AVAILABLE", forever],
    ["NOT_ENOUGH_REPLICAS", forever],
    ["INVALID_REPLICATION_FACTOR", 15_000],
    ["UNKNOWN_TOPIC_OR_PARTITION", 15_000],
    ["ILLEGAL_SASL_STATE", 15_000],
    ["UNKNOWN_SERVER_ERROR", 15_000],
    ["TOPIC_AUTHORIZATION_FAILED", 0],
    ["CLUSTER_AUTHORIZATION_FAILED", 0],
    ["INVALID_TOPIC_EXCEPTION", 0],
    ["INVALID_CONFIG", 0],
    ["POLICY_VIOLATION", 0],
  ])("%s: %d ms", (type, ms) => {
    expect(patienceMs(protocolError(code(type)))).toBe(ms);
    expect(patienceMs(caused(listed(code(type))))).toBe(ms);
  });
});

test("of several topics, one that people have to change ends the wait", () => {
  const [unsteady, wrong] = [code("LEADER_NOT_AVAILABLE"), code("INVALID_CONFIG")];
  expect(patienceMs(listed(unsteady, wrong))).toBe(0);
  expect(patienceMs(listed(unsteady, code("INVALID_REPLICATION_FACTOR")))).toBe(forever);
});
