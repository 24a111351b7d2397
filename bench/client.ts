/**
 * `bench client`: what `track()` costs in CPU, and what a queued call holds, against
 * @segment/analytics-node in the same run. The ratio is ours over theirs; the goal is at most 0.5.
 */

import { type Contestant, markdown, measureInTurns, median, perThousand } from "./measure.ts";

const CALLS = 20_000;
const WARM_UP = 5_000;
const NAMES = { segment: "@segment/analytics-node", ours: "switchyard/client" } as const;

export async function benchClient(rounds: number): Promise<string> {
  const contestants = (["segment", "ours"] as const).map(
    (key): Contestant => ({
      name: NAMES[key],
      argv: ["--expose-gc", "bench/client-work.ts", key, `${CALLS}`, `${WARM_UP}`],
    }),
  );
  const results = await measureInTurns(contestants, rounds);
  const figures = contestants.map(({ name }) => {
    const measured = results.get(name) ?? [];
    return {
      name,
      cpu: median(measured.map(perThousand)),
      held: median(measured.map(({ extra }) => extra?.heldBytes ?? Number.NaN)),
    };
  });
  const theirs = figures.find(({ name }) => name === NAMES.segment);
  return markdown(
    ["library", "CPU ms / 1,000 calls", "ratio", "bytes held / call", "ratio"],
    figures.map(({ name, cpu, held }) => [
      name,
      cpu.toFixed(2),
      (cpu / (theirs?.cpu ?? Number.NaN)).toFixed(2),
      held.toFixed(0),
      (held / (theirs?.held ?? Number.NaN)).toFixed(2),
    ]),
  );
}
