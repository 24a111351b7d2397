// A process is killed after its record in `operator-actions` and before its first commit. No offset depends on this
// record: the next process reads the calls from the beginning, and counts the dead process as running until the record
// is 90 s old.

import { expect, onTestFinished, test } from "vitest";

import { readOperatorAction } from "../../src/router/control/operator-actions.ts";
import { programWorld } from "../support/servers/program.ts";
import { messageIdsOf, ownTopics } from "../support/worlds/own-topics.ts";

const CALLS = Array.from({ length: 200 }, (_, index) => `call-${index}`);
const POLL = { interval: 100, timeout: 60_000 };
const TIMEOUT_MS = 120_000;

test(
  "killed between its record and its first commit: nothing is lost, and nobody is kept waiting",
  async () => {
    const { prefix, brokers, kafka, recordsIn } = ownTopics("announce-crash");
    const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 1, sessionTimeout: 6s }
sources: [{ id: web, destinations: [lake] }]
defaultSource: web
destinations: [{ id: lake, type: topic, name: Lake }]
admin: { host: 127.0.0.1, port: 0 }
`);
    onTestFinished(() => world[Symbol.asyncDispose]());
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
    expect((await world.command(["topics", "--apply"])).status).toBe(0);
    const producer = kafka.producer();
    const records = CALLS.map((messageId) => ({
      topic: `${prefix}calls`,
      key: Buffer.from("u"),
      value: Buffer.from(JSON.stringify({ type: "track", event: "e", userId: "u", messageId })),
      headers: [],
    }));
    expect(await producer.send(records)).toEqual([]);
    await producer.close(5_000);

    const killed = world.start(["--stages", "route"]);
    await expect.poll(known, POLL).toHaveLength(1);
    await killed.kill();
    const left = await known();
    const committed = await kafka.admin.committed(`${prefix}route`, `${prefix}calls`);
    expect(committed.filter(({ offset }) => offset > 0)).toEqual([]);

    const next = world.start(["--stages", "route"]);
    await next.logged("ready");
    const arrived = async () => new Set(await messageIdsOf(kafka, `${prefix}deliveries.lake`)).size;
    await expect.poll(arrived, POLL).toBe(CALLS.length);
    expect(await known()).toHaveLength(2);
    next.child.kill("SIGTERM");
    expect(await next.ended).toBe(0);
    expect(await known()).toEqual(left);
    // Both have the same routes, so no routes are missing.
    expect(next.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  },
  TIMEOUT_MS,
);
