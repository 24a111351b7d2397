// `audience publish` with the real program on a real Kafka: an export that failed looks like a complete one, and must
// not empty the audience. The list is compared with the members after all earlier syncs of the audience.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "vitest";
import type { Grant } from "../../src/domain/permissions.ts";
import { JAVA } from "../support/kit/java.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { PASSWORD, startGuardedBroker } from "../support/servers/guarded-broker.ts";
import { createTopics, testKafka } from "../support/worlds/test-kafka.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `user-${String(index).padStart(4, "0")}\n`).join("");

/**
 * Starts the program with only the audience stage, and runs the command like `export | switchyard audience publish`.
 */
async function publishing({ onTestFinished }: TestContext, name: string, partitions: number) {
  const own = useKafka(name, { lifetime: onTestFinished });
  const { prefix, brokers } = own;
  const world = useProgram(
    {
      kafka: { brokers, topicPrefix: prefix, partitions },
      destinations: {},
      audienceDefaults: { source: "web" },
    },
    onTestFinished,
  );
  return { ...own, world, ...commandsOf(world.file) };
}

function commandsOf(file: string) {
  const start = (text: string, ...more: readonly string[]) => {
    const command = ["audience", "publish", "--name", "VIP", "-c", file, ...more];
    const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
    const child = spawn(process.execPath, [BIN, ...command], { env });
    const said: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => said.push(chunk));
    child.stdout.resume();
    child.stdin.end(text);
    const ended = once(child, "close").then(([status]) => {
      // On a busy machine, the command shows its progress, or that it waits for Kafka.
      const err = said.join("").replaceAll(/^(?:Waiting for .*|.* \.\.\.)\n/gm, "");
      return { status: status as number | null, err };
    });
    return { child, err: () => said.join(""), ended };
  };
  return { start, piped: (text: string, ...more: readonly string[]) => start(text, ...more).ended };
}

test.concurrent("lists that are empty, truncated or lack most members are rejected; forced ones are published", async (context) => {
  const { expect } = context;
  const { world, recordsIn, piped } = await publishing(context, "lists", 2);
  const program = world.start(["--stages", "audience"]);
  await program.logged("ready");
  const members = async () => {
    const { out } = await world.inProcess(["audience", "members", "vip"]);
    return out.split("\n").length - 1;
  };
  const written = async () => (await recordsIn("audience-syncs")).length;

  expect(await piped("")).toMatchObject({ status: 1, err: expect.stringContaining("is empty") });
  expect(await written()).toBe(0);
  expect(await piped(lines(1_000))).toEqual({ status: 0, err: "" });
  await expect.poll(members).toBe(1_000);
  const before = await written();

  const cut = lines(900).slice(0, -3);
  const refused: readonly (readonly [string, string])[] = [
    ["", "the list is empty"],
    ["\n\n", "the list is empty"],
    [lines(499), "(501 of 1,000 members)"],
    [cut, "its last line is truncated"],
  ];
  for (const [text, why] of refused) {
    expect(await piped(text)).toMatchObject({ status: 1, err: expect.stringContaining(why) });
    const file = join(world.directory, "users.txt");
    writeFileSync(file, text);
    const published = ["audience", "publish", "--name", "VIP", "--file", file];
    expect(await world.inProcess(published)).toMatchObject({ status: 1, out: "" });
  }
  expect(await written()).toBe(before);
  expect(await members()).toBe(1_000);

  expect(await piped(lines(500))).toMatchObject({ status: 0 });
  await expect.poll(members).toBe(500);
  expect(await piped(lines(10), "--force")).toMatchObject({ status: 0 });
  await expect.poll(members).toBe(10);
  expect(await piped("", "--force")).toMatchObject({ status: 0 });
  await expect.poll(members).toBe(0);
});

const NOT_APPLIED = "3 records of earlier syncs have not been applied";

test.concurrent("while the stage is down, a second list is rejected, and only for that audience; once it is up, lists are compared", async (context) => {
  const { expect } = context;
  const { world, recordsIn, start, piped } = await publishing(context, "unapplied", 1);
  expect(await world.inProcess(["topics", "--apply"])).toMatchObject({ status: 0 });
  expect(await piped(lines(1_000))).toEqual({ status: 0, err: "" });
  const written = async () => (await recordsIn("audience-syncs")).length;
  expect(await written()).toBe(3);

  const [cut, interrupted] = [start(lines(10)), start(lines(10))];
  const asks = expect.stringContaining("Waiting until the audience stage has applied 3 records");
  await expect.poll(interrupted.err).toEqual(asks);
  interrupted.child.kill("SIGINT");
  const nothing = { status: 1, err: expect.stringContaining("Interrupted: nothing was written") };
  expect(await interrupted.ended).toMatchObject(nothing);
  // Another audience does not wait for these records.
  const others = [...["--name", "Other"], ...["--audience", "other"]];
  expect(await piped(lines(1_000), ...others)).toEqual({ status: 0, err: "" });
  expect(await written()).toBe(6);
  const { status, err } = await cut.ended;
  expect([status, err]).toEqual([1, expect.stringContaining(NOT_APPLIED)]);
  expect(err).toMatch(/the oldest has been waiting since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(/);
  expect(err).toContain("Nothing was written. Start the audience stage");
  expect(err).toContain("--force");
  expect(await written()).toBe(6);
  expect(await piped(lines(1_000), "--force")).toMatchObject({ status: 0 });
  expect(await written()).toBe(9);

  // The command waits for the stage, and then compares with the current members.
  const waiting = start(lines(499));
  await expect.poll(waiting.err).toContain("6 records");
  await world.start(["--stages", "audience"]).logged("ready");
  expect(await waiting.ended).toMatchObject({
    status: 1,
    err: expect.stringContaining("(501 of 1,000 members)"),
  });
  expect(await piped(lines(501))).toMatchObject({ status: 0 });
});

test.concurrent("an open sync, of the audience or of another one in the partition, holds up no list once it is applied", async (context) => {
  const { expect } = context;
  const { world, prefix, kafka, piped } = await publishing(context, "open", 1);
  await world.start(["--stages", "audience"]).logged("ready");
  const producer = kafka.producer();
  const begin = async (audienceId: string, ...userIds: readonly string[]) => {
    const of = { audienceId, syncId: `open-${userIds.length}`, audienceName: audienceId };
    const values = [
      { type: "begin", ...of },
      { type: "members", ...of, userIds },
    ];
    const records = values.map((value) => ({
      ...{ topic: `${prefix}audience-syncs`, key: Buffer.from(audienceId), headers: [] },
      value: Buffer.from(JSON.stringify(value)),
    }));
    expect(await producer.send(records)).toEqual([]);
  };
  const ids = lines(100).trim().split("\n");
  // The sync stays open, so the committed offset does not change.
  await begin("other", "u1");
  expect(await piped(lines(100))).toMatchObject({ status: 0 });
  // Its users are already members, so nothing is written to the changelog.
  await begin("vip", ...ids);
  expect(await piped(lines(49))).toMatchObject({
    status: 1,
    err: expect.stringContaining("(51 of 100 members)"),
  });
  expect(await piped(lines(60))).toMatchObject({ status: 0 });
  expect(await piped(lines(60))).toMatchObject({ status: 0 });
  await producer.close(5_000);
});

/** A client with all permissions. */
function createOpen(address: string) {
  return testKafka({ brokers: [address], clientId: "open" });
}

test
  .skipIf(JAVA === null)
  .concurrent(
    "without the permissions for it, a list is rejected with what could not be checked (needs Java)",
    async ({ expect, onTestFinished }) => {
      if (JAVA === null) return;
      const broker = await startGuardedBroker(JAVA, ["editor"]);
      onTestFinished(broker.stop);
      const topic = (name: string, ...operations: Grant["operations"]): Grant => {
        return { on: "topic", names: [name], pattern: "literal", operations };
      };
      const group: Grant = { ...topic("audience", "Describe"), on: "group" };
      const syncs = topic("audience-syncs", "Read");
      const all: Grant = { ...topic("*", "Describe"), pattern: "literal" };
      const rest = [
        topic("audience-syncs", "Write"),
        ...["audiences", "audience-members"].map((name) => topic(name, "Read")),
      ];
      await broker.grant("editor", [all, ...rest, group, syncs]);
      const sasl = { mechanism: "plain", username: "editor", password: PASSWORD };
      const world = useProgram(
        {
          kafka: { brokers: [broker.guardedAddress], topicPrefix: "", sasl },
          destinations: {},
          audienceDefaults: { source: "web" },
        },
        onTestFinished,
      );
      const { piped } = commandsOf(world.file);
      const open = createOpen(broker.openAddress);
      onTestFinished(() => open.close());
      const names = ["audience-syncs", "audience-members", "audiences"];
      await createTopics(open, names);
      const written = async () => (await open.admin.offsets("audience-syncs"))[0]?.end;
      expect(await piped(lines(10))).toMatchObject({ status: 0 });
      for (const [missing, what] of [
        [group, "the permission Describe on the group audience is missing"],
        [syncs, "the permission Read on the topic audience-syncs is missing"],
      ] as const) {
        await broker.forbid("editor", [missing]);
        const { status, err } = await piped(lines(10));
        expect([status, err]).toEqual([1, expect.stringContaining(what)]);
        expect(err).toContain("Switchyard could not check whether earlier syncs have been applied");
        expect(err).toContain("--force publishes the list without comparing it");
        expect(await written()).toBe(3);
        await broker.permit("editor", [missing]);
      }
      await broker.forbid("editor", [group, syncs]);
      expect(await piped(lines(10), "--force")).toMatchObject({ status: 0 });
      expect(await written()).toBe(6);
    },
  );
