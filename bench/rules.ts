/**
 * `bench rules`: the cost of the rules of destinations.
 *
 *   table   measures                                                 goal
 *   1       the route stage on Kafka: five destinations that get     a filter: at most 1.15 times the CPU without;
 *           all calls, without rules, with a filter of two terms,    a changed call: at most 5 µs more than a copy
 *           and with a rule that changes every call: the same rule
 *           for all destinations, or a different one for each
 *   2       routing alone, without Kafka: fifty filters, none of
 *           which matches, on each of a hundred destinations; the
 *           filters of each destination are different
 *   3       filters alone: patterns and texts of 30 KB that are      at most 20 times a simple scan
 *           expensive by design, and two ordinary terms
 */

import { type Contestant, markdown, measureContestants, type Summary } from "./measure.ts";
import { callRecord, DESTINATIONS, idOf } from "./work.ts";
import { Workbench } from "./workbench.ts";

const CALLS = 60_000;

const STAGE = {
  none: "no rules",
  filter: "a filter of two terms on each of five destinations",
  change: "a rule that changes the call on each of five destinations",
  changes: "the same with another rule on each of them",
};
const ROUTING = {
  hundred: "a hundred destinations without rules",
  fifty: "fifty filters on each of a hundred destinations",
};
const FILTERS = {
  scan: "plain scan of 30 KB",
  any: "120 `?` after a star, on 30 KB",
  lists: "60 lists after a star, on 30 KB",
  stars: "120 stars, on 30 KB",
  given: "a pattern of 256 bytes from the call, on 30 KB",
  contains: "contains, a part of 15 KB, on 30 KB",
  ordinary: "two ordinary terms",
};

export async function benchRules(brokers: string, rounds: number): Promise<string> {
  const stage = await measureStage(brokers, rounds);
  const [none] = stage;
  const alone = (names: Readonly<Record<string, string>>) =>
    measureContestants(
      contestantsOf(names, (key) => ["bench/rules-work.ts", key]),
      rounds,
    );
  return [
    table(stage, "copy", (summary) => ({
      "µs more": (summary.cpuMsPerThousand - (none?.cpuMsPerThousand ?? 0)).toFixed(2),
    })),
    table(await alone(ROUTING), "call"),
    table(await alone(FILTERS), "evaluation"),
  ].join("\n\n");
}

async function measureStage(brokers: string, rounds: number): Promise<readonly Summary[]> {
  await using bench = new Workbench(brokers);
  const { calls, deadLetters, prefix } = bench.topics;
  const destinations = Array.from({ length: DESTINATIONS }, (_, at) => bench.deliveries(idOf(at)));
  await bench.create([calls, ...destinations, deadLetters]);
  await bench.fill(CALLS, (number) => callRecord(calls, number));
  const copies = CALLS * DESTINATIONS;
  const warmUp = Math.floor(copies / 4);
  const work = [brokers, `${copies - warmUp}`, `${warmUp}`, prefix];
  return await measureContestants(
    contestantsOf(STAGE, (key) => ["bench/route-switchyard.ts", ...work, key]),
    rounds,
    () => bench.forgetGroups([bench.groups.route, calls]),
  );
}

function contestantsOf(
  names: Readonly<Record<string, string>>,
  argvOf: (key: string) => readonly string[],
): readonly Contestant[] {
  return Object.entries(names).map(([key, name]) => ({ name, argv: argvOf(key) }));
}

/**
 * A CPU time in milliseconds per thousand units is the same number of microseconds per unit. The ratio compares a row
 * with the first one.
 */
function table(
  summaries: readonly Summary[],
  unit: string,
  more: (summary: Summary) => Readonly<Record<string, string>> = () => ({}),
): string {
  const first = summaries[0]?.cpuMsPerThousand ?? Number.NaN;
  return markdown(
    summaries.map((summary) => ({
      rules: summary.name,
      [`CPU µs / ${unit}`]: summary.cpuMsPerThousand.toFixed(2),
      ratio: (summary.cpuMsPerThousand / first).toFixed(2),
      ...more(summary),
    })),
  );
}
