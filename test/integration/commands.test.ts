// `topics` and `publish` as child processes, on a real Kafka.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { useProgram } from "../support/kit/program.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");
const lifetime = untilFileEnds();
const { prefix, brokers, kafka, recordsIn, writtenTo } = useKafka("commands", { lifetime });
const { file } = useProgram(
  `
kafka: { brokers: "${brokers}", topicPrefix: "${prefix}", partitions: 3 }
sources: [{ id: web, destinations: [warehouse] }]
destinations: [{ id: warehouse, type: topic, name: Warehouse }]
delivery: { retryDelays: [10s] }
`,
  lifetime,
);

async function switchyard(args: readonly string[], input = "") {
  const child = spawn(process.execPath, [BIN, ...args, "--config", file]);
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, out, err };
}

test.each([
  [["publish"], "calls"],
  [["delete", "u1"], "deletion-requests"],
  [["audience", "publish", "--name", "VIP"], "audience-syncs"],
])("%j without its topic reports it, instead of waiting for it", async (args, topic) => {
  expect(await switchyard(args, "u1\n")).toMatchObject({
    status: 1,
    err: expect.stringContaining(`the topic ${prefix}${topic} does not exist`),
  });
});

test("topics are planned, created and then as planned; calls are published into them", async () => {
  expect(await switchyard(["topics"])).toMatchObject({
    status: 1,
    out: expect.stringContaining("12 topics to create"),
  });
  expect(await switchyard(["topics", "--apply"])).toMatchObject({ status: 0, err: "" });
  expect(await switchyard(["topics"])).toMatchObject({
    status: 0,
    out: "All 12 topics are as planned; nothing to create or change.\n",
  });

  await kafka.admin.alterConfig(`${prefix}calls`, { "retention.ms": "3600000" });
  expect(await switchyard(["topics", "--apply"])).toMatchObject({
    status: 0,
    out: expect.stringContaining("Done: 1 setting changed."),
  });
  const [state] = await kafka.admin.describe([`${prefix}calls`], ["retention.ms"]);
  expect(state?.config["retention.ms"]).toBe("604800000");

  const one = '{"type":"track","userId":"u1","event":"Café"}';
  const two = '{"type":"identify","anonymousId":"a1"}';
  const published = await switchyard(["publish", "--source", "web"], `${one}\nnope\n${two}\n`);
  expect(published).toEqual({
    status: 1,
    out: `2 calls written, 1 line rejected (${prefix}calls).\n`,
    err: "line 2 rejected: undecodable: the value is not JSON\n",
  });
  const records = (await recordsIn("calls")).toSorted((a, b) => a.timestampMs - b.timestampMs);
  expect(new Map(records.map(({ key, value }) => [key?.toString(), value?.toString()]))).toEqual(
    new Map([
      ["u1", one],
      ["a1", two],
    ]),
  );
  for (const { headers } of records) expect(headers).toEqual([["source-id", Buffer.from("web")]]);
});

test("publishing does not depend on who reads its output", async () => {
  const before = await writtenTo("calls");
  const child = spawn(process.execPath, [BIN, "publish", "--source", "web", "--config", file]);
  child.stdout.destroy();
  child.stderr.destroy();
  const good = '{"type":"identify","userId":"u"}\n';
  for (let number = 0; number < 100; number += 1) child.stdin.write(`nope\n${good}`);
  child.stdin.end();
  expect(await once(child, "exit")).toEqual([1, null]);
  expect((await writtenTo("calls")) - before).toBe(100);
});
