/**
 * `bench client`: the CPU for `track()`, and the memory for a queued call, compared with @segment/analytics-node in the
 * same run. The ratio is our figure divided by theirs. The goal is at most 0.5.
 */

import { markdown, measureContestants } from "./measure.ts";

const CALLS = 20_000;
const WARM_UP = 5_000;

export async function benchClient(rounds: number): Promise<string> {
  const contestant = (name: string, key: string) => ({
    name,
    argv: ["--expose-gc", "bench/client-work.ts", key, `${CALLS}`, `${WARM_UP}`],
  });
  const contestants = [
    contestant("@segment/analytics-node", "segment"),
    contestant("switchyard-sdk/client", "ours"),
  ];
  const summaries = await measureContestants(contestants, rounds);
  const figures = summaries.map(({ name, cpuMsPerThousand, extra }) => {
    return { name, cpu: cpuMsPerThousand, held: extra("heldBytes") };
  });
  const [theirs] = figures;
  return markdown(
    figures.map(({ name, cpu, held }) => ({
      library: name,
      "CPU ms / 1,000 calls": cpu.toFixed(2),
      ratio: (cpu / (theirs?.cpu ?? Number.NaN)).toFixed(2),
      "bytes held / call": held.toFixed(0),
      "ratio of bytes": (held / (theirs?.held ?? Number.NaN)).toFixed(2),
    })),
  );
}
