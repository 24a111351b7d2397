/**
 * Shows how a contestant spends its CPU: runs it once under V8's sampling profiler, and sorts the samples by the owner
 * of the code. Work of V8 and Node counts for the calling code only if it has no separate frame: JSON.parse counts for
 * its caller, but a write to a socket does not.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Contestant, markdown, runOnce } from "./measure.ts";

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The first row that matches the function or its file applies. If the owner is null, the sample is not counted. */
const OWNERS: readonly (readonly [owner: string | null, pattern: RegExp])[] = [
  [null, /^\(idle\)|^\(root\)/],
  ["garbage collection", /^\(garbage collector\)/],
  [null, /internal\/(modules|bootstrap|deps|vm|main)|typescript|^(evaluate|compile|require)/],
  ["socket writes", /^write(v|Buffer|Latin1String|Utf8String) $/],
  ["signature", /internal\/crypto|^node:crypto/],
  ["parsing and writing JSON", /^(decodeValue|payload|post) /],
  ["undici", /undici|wasm/],
  ["kafkajs", /kafkajs/],
  ["Switchyard: Kafka", /src\/kafka\//],
  ["Switchyard: the rest", /src\//],
  ["Node: streams, sockets, timers", / node:/],
  ["other", /./],
];

/** Returns a Markdown table of percentages, with a column for each contestant. */
export async function profileTable(
  contestants: readonly Contestant[],
  before: () => Promise<void>,
): Promise<string> {
  const columns = new Map<string, Map<string, number>>();
  for (const contestant of contestants) {
    await before();
    process.stderr.write(`  profile: ${contestant.name}\n`);
    columns.set(contestant.name, shares(await profileOf(contestant)));
  }
  const owners = OWNERS.flatMap(([owner]) => owner ?? []);
  return markdown(
    owners.map((owner) => ({
      "% of CPU in": owner,
      ...Object.fromEntries(
        [...columns].map(([name, each]) => [name, (each.get(owner) ?? 0).toFixed(0)]),
      ),
    })),
  );
}

async function profileOf(contestant: Contestant): Promise<Profile> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-profile-"));
  try {
    const flags = ["--cpu-prof", `--cpu-prof-dir=${directory}`];
    await runOnce({ ...contestant, argv: [...flags, ...contestant.argv] });
    const [file = ""] = readdirSync(directory);
    return JSON.parse(readFileSync(join(directory, file), "utf8")) as Profile;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function shares({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const ownerOf = new Map(
    nodes.map(({ id, callFrame }) => {
      const frame = `${callFrame.functionName} ${callFrame.url}`;
      return [id, OWNERS.find(([, pattern]) => pattern.test(frame))?.[0] ?? null];
    }),
  );
  const spent = new Map<string, number>();
  let all = 0;
  samples.forEach((id, at) => {
    const owner = ownerOf.get(id) ?? null;
    if (owner === null) return;
    const us = timeDeltas[at] ?? 0;
    spent.set(owner, (spent.get(owner) ?? 0) + us);
    all += us;
  });
  return new Map([...spent].map(([owner, us]) => [owner, (us / all) * 100]));
}
