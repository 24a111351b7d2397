// The Python code in docs/audiences.md is run unchanged: the audience stage accepts the sync, which is in the partition
// that Java clients choose.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

import { partitionOfKey } from "../../src/kafka/wire/murmur2.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { prepareEnvironment, pythonOf } from "../support/servers/client-libraries.ts";
import { callsTopic } from "../support/worlds/ingest-on-kafka.ts";

const run = promisify(execFile);
const CLIENT = "confluent-kafka==2.16.0";
const PREPARE_LIMIT_MS = 180_000;
const PARTITIONS = 3;

test("the page's Python sends a whole sync", {
  timeout: PREPARE_LIMIT_MS + 60_000,
}, async (context) => {
  const reason = await prepareEnvironment(CLIENT, AbortSignal.timeout(PREPARE_LIMIT_MS));
  if (reason !== null) return context.skip(reason);
  await using topic = await callsTopic("audience-page");
  const page = readFileSync(join(ROOT, "docs/audiences.md"), "utf8");
  const code = fencedBlocks(page).find(({ language }) => language === "python")?.text ?? "";
  for (const stand of ["kafka-1:9092", "switchyard.audience-syncs"]) expect(code).toContain(stand);
  const folder = mkdtempSync(join(tmpdir(), "switchyard-audience-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const filled = code
    .replace("kafka-1:9092", topic.brokers)
    .replace("switchyard.audience-syncs", topic.topic);
  writeFileSync(join(folder, "sync.py"), filled);
  await run(pythonOf(CLIENT), ["sync.py"], { cwd: folder });
  await expect.poll(() => topic.values().length).toBe(3);
  const [begin, members, end] = topic.values();
  const syncId = begin?.syncId;
  expect(syncId).toMatch(/^[\da-f-]{36}$/);
  const sync = { audienceId: "vip", syncId };
  expect(begin).toEqual({ ...sync, type: "begin", audienceName: "VIP Customers" });
  expect(members).toEqual({ ...sync, type: "members", userIds: ["u1", "u2", "u4"] });
  expect(end).toEqual({ ...sync, type: "end", count: 3 });
  const partitions = new Set(topic.taker.taken.map(({ partition }) => partition));
  expect([...partitions]).toEqual([partitionOfKey(Buffer.from("vip"), PARTITIONS)]);
});
