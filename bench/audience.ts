/**
 * `bench audience`: a first sync, the same again, and one with 1 % in and 1 % out, of 1 million
 * members by default, with what they cost on disk and in the changelog.
 *
 * The event loop's delay stands for what other stages of the process, and other partitions, feel.
 */

import { randomUUID } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { topicNames } from "../src/domain/topics.ts";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import { benchKafka } from "./bench-kafka.ts";
import { type Measured, markdown, NODE_FLAGS, perThousand } from "./measure.ts";

const ID_BYTES = 16;

interface SyncMeasured extends Measured {
  readonly name: string;
  readonly delayP99Ms: number;
}

export async function benchAudience(brokers: string, members: number): Promise<string> {
  const prefix = `bench-${randomUUID().slice(0, 8)}.`;
  const topics = topicNames(prefix);
  const directory = join(tmpdir(), `${prefix}state`);
  const kafka = benchKafka(brokers);
  const topic = (name: string, config: Readonly<Record<string, string>> = {}) => ({
    name,
    partitions: 1,
    replicationFactor: 1,
    config,
  });
  const names = [topics.calls, topics.audienceSyncs, topics.audiences, topics.deadLetters];
  await kafka.admin.create([...names.map((name) => topic(name)), topic(topics.audienceMembers)]);
  const results = await run([brokers, prefix, `${members}`, directory]);
  const disk = await bytesIn(directory);
  const changelog = await changelogBytes(kafka, topics.audienceMembers);
  await kafka.admin.deleteTopics([...names, topics.audienceMembers]);
  await kafka.close();
  await rm(directory, { recursive: true, force: true });
  const rows = results.map((measured) => [
    measured.name,
    `${(measured.wallMs / 1_000).toFixed(1)}`,
    `${Math.round((measured.units / measured.wallMs) * 1_000)}`,
    perThousand(measured).toFixed(1),
    `${measured.rssMaxMb}`,
    measured.delayP99Ms.toFixed(1),
  ]);
  const header = ["sync", "s", "members / s", "CPU ms / 1,000", "peak MB", "loop delay p99 ms"];
  const perMember = (bytes: number) => (bytes / members - ID_BYTES).toFixed(1);
  return `${members} members\n\n${markdown(header, rows)}\n\nBytes per member beyond the id: ${perMember(disk)} on local disk, ${perMember(changelog)} in the changelog as keys and values after compaction, before Kafka's own 7 or so.`;
}

async function run(args: readonly string[]): Promise<readonly SyncMeasured[]> {
  const command = [process.execPath, ...NODE_FLAGS, "bench/audience-work.ts", ...args];
  const child = spawnGuarded(null, command, { output: ["pipe", "inherit"] });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (status !== 0) throw new Error(`bench/audience-work.ts ended with status ${status}`);
  return (JSON.parse(output) as { readonly results: readonly SyncMeasured[] }).results;
}

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true });
  const sizes = await Promise.all(names.map((name) => stat(join(directory, name))));
  return sizes.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

/** Of what compaction leaves: members come once at the first sync, and 1 % of them twice. */
async function changelogBytes(kafka: ReturnType<typeof benchKafka>, topic: string) {
  const end = (await kafka.admin.offsets(topic))[0]?.end ?? 0;
  const range = { topic, partition: 0, from: 0, to: end, maxBytes: 1_048_576 };
  const { signal } = new AbortController();
  let bytes = 0;
  for await (const records of kafka.read({ ...range, signal })) {
    for (const { key, value } of records) {
      if (key?.[0] !== 0x6d) continue;
      const size = key.length + (value?.length ?? 0);
      // A tombstone takes its member's record with it.
      bytes += value === null ? -key.length - 1 : size;
    }
  }
  return bytes;
}
