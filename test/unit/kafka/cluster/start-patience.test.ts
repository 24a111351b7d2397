import { describe, expect, test } from "vitest";
import { errorType, patienceMs, protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { ClosedError } from "../../../../src/kafka/port.ts";

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
