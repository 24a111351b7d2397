/**
 * `bench audience`: a first sync, the same sync again, and a sync in which 1 % of the members are new and 1 % are
 * missing. The audience has 1 million members by default. Also measures the bytes on disk and in the changelog.
 *
 * The delay of the event loop shows how much other stages of the process, and other partitions, are slowed down.
 */

import { readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Measured, markdown, perThousand, runOnce } from "./measure.ts";
import { Workbench } from "./workbench.ts";

const ID_BYTES = 16;

interface SyncMeasured extends Measured {
  readonly name: string;
  readonly delayP99Ms: number;
}

export async function benchAudience(brokers: string, members: number): Promise<string> {
  await using bench = new Workbench(brokers);
  const { prefix, calls, audienceSyncs, audiences, deadLetters, audienceMembers } = bench.topics;
  const directory = join(tmpdir(), `${prefix}state`);
  const names = [calls, audienceSyncs, audiences, deadLetters, audienceMembers];
  await bench.create(names, { partitions: 1 });
  const argv = ["bench/audience-work.ts", brokers, prefix, `${members}`, directory];
  const { results } = await runOnce<{ readonly results: readonly SyncMeasured[] }>({
    name: "the audience stage",
    argv,
  });
  const disk = await bytesIn(directory);
  const changelog = await changelogBytes(bench, audienceMembers);
  await rm(directory, { recursive: true, force: true });
  const table = markdown(
    results.map((measured) => ({
      sync: measured.name,
      s: (measured.wallMs / 1_000).toFixed(1),
      "members / s": ((measured.units / measured.wallMs) * 1_000).toFixed(0),
      "CPU ms / 1,000": perThousand(measured).toFixed(1),
      "peak MB": measured.rssMaxMb.toFixed(0),
      "loop delay p99 ms": measured.delayP99Ms.toFixed(1),
    })),
  );
  const perMember = (bytes: number) => (bytes / members - ID_BYTES).toFixed(1);
  return `${members} members\n\n${table}\n\nBytes per member beyond the id: ${perMember(disk)} on local disk, ${perMember(changelog)} in the changelog as keys and values after compaction, before Kafka's own 7 or so.`;
}

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true });
  const sizes = await Promise.all(names.map((name) => stat(join(directory, name))));
  return sizes.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

/**
 * Counts the bytes that compaction leaves: the first sync writes each member once, and 1 % of the members are written
 * twice.
 */
async function changelogBytes(bench: Workbench, topic: string): Promise<number> {
  let bytes = 0;
  for await (const records of bench.read(topic)) {
    for (const { key, value } of records) {
      if (key?.[0] !== 0x6d) continue;
      // A tombstone also removes the record of its member.
      bytes += value === null ? -key.length - 1 : key.length + value.length;
    }
  }
  return bytes;
}
