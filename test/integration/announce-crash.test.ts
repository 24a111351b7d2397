// A process is killed after its record in `operator-actions` and before its first commit. No offset depends on this
// record: the next process reads the calls from the beginning, and counts the dead process as running until the record
// is 90 s old.

import { expect, test } from "vitest";

import { readOperatorAction } from "../../src/router/control/operator-actions.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";

const CALLS = 200;

test("killed between its record and its first commit: nothing is lost, and nobody is kept waiting", async () => {
  const { prefix, brokers, publish, recordsIn, committedBy, idsIn } = useKafka("announce-crash");
  const { inProcess, begin, ready } = useProgram({
    kafka: { brokers, topicPrefix: prefix, sessionTimeout: "6s" },
    destinations: { lake: { type: "topic", name: "Lake" } },
  });
  /** Returns the processes with a record in the topic. */
  const known = async () => {
    const processes = new Set<string>();
    for (const record of await recordsIn("operator-actions")) {
      const operation = readOperatorAction(record);
      if (operation.kind === "process") processes.add(operation.process.id);
      if (operation.kind === "forget-process") processes.delete(operation.id);
    }
    return [...processes];
  };
  expect((await inProcess(["topics", "--apply"])).status).toBe(0);
  await publish(CALLS, { users: 1 });

  const killed = begin("route");
  await expect.poll(known).toHaveLength(1);
  await killed.kill();
  const left = await known();
  expect(await committedBy(`${prefix}route`, "calls")).toBe(0);

  const next = await ready("route");
  const arrived = async () => new Set(await idsIn("deliveries.lake")).size;
  await expect.poll(arrived).toBe(CALLS);
  expect(await known()).toHaveLength(2);
  expect(await next.stop()).toBe(0);
  expect(await known()).toEqual(left);
  // Both have the same routes, so no routes are missing.
  expect(next.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
});
