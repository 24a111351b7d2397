import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { StartInterruptedError, waitOut } from "../../../../src/program/run/wait-for-cluster.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const LEADER_NOT_AVAILABLE = 5;
const TOPIC_AUTHORIZATION_FAILED = 29;
const INVALID_REPLICATION_FACTOR = 38;

function world(limitMs: number) {
  const [lines, stop] = [new LogLines(), new AbortController()];
  const untilMs = performance.now() + limitMs;
  const patiently = waitOut({ untilMs, log: lines.log, signal: stop.signal, delayFirstMs: 1 });
  return { lines, stop, patiently };
}

/** Returns a function that fails with these errors, one after the other, and then succeeds. */
function failing(...errors: readonly Error[]) {
  const left = [...errors];
  return async () => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return "done";
  };
}

test("what passes is tried again, and said once for each cause", async () => {
  const { lines, patiently } = world(60_000);
  const [leader, gone] = [protocolError(LEADER_NOT_AVAILABLE), new Error("no response")];
  expect(await patiently(failing(leader, leader, gone, leader))).toBe("done");
  expect(lines.lines.map(({ msg, fields }) => [msg, fields.cause])).toEqual([
    ["kafka.waiting", leader.message],
    ["kafka.waiting", gone.message],
  ]);
});

test("what people have to change is not tried again", async () => {
  const { lines, patiently } = world(60_000);
  const refused = protocolError(TOPIC_AUTHORIZATION_FAILED);
  await expect(patiently(failing(refused))).rejects.toBe(refused);
  expect(lines.lines).toEqual([]);
});

test("after kafka.startTimeout the last error is thrown", async () => {
  const { patiently } = world(0);
  const leader = protocolError(LEADER_NOT_AVAILABLE);
  await expect(patiently(failing(leader))).rejects.toBe(leader);
});

test("too few brokers are waited for, too: the others may yet begin", async () => {
  const { patiently } = world(60_000);
  const few = protocolError(INVALID_REPLICATION_FACTOR);
  expect(await patiently(failing(few, few))).toBe("done");
});

test("a request to stop ends the wait", async () => {
  const { stop, patiently } = world(60_000);
  const waiting = patiently(async () => {
    throw protocolError(LEADER_NOT_AVAILABLE);
  });
  await setImmediate();
  stop.abort("SIGTERM");
  await expect(waiting).rejects.toBeInstanceOf(StartInterruptedError);
});
