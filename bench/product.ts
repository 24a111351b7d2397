/**
 * `bench product`: `switchyard run` as in production: a process that is started in the same way as in the image, with
 * all stages, from the topic `calls` to a receiver, at log level info, with its log read from a pipe. For comparison,
 * the same requests are sent with `undici.request`, without Kafka and without Switchyard.
 *
 * The results are ratios of contestants in the same round.
 */

import { type ImageStart, imageStart } from "./image.ts";
import {
  type Measured,
  markdown,
  measureInTurns,
  median,
  perThousand,
  runOnce,
  summarise,
  type Turn,
} from "./measure.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { benchDelivery, productCall, recordOf } from "./work.ts";
import { Workbench } from "./workbench.ts";

const IN_FLIGHT = 64;
/** After 20,000 calls, V8 is still compiling. */
const WARM_UP = 100_000;
const MEASURED = 100_000;
export const TOTAL = WARM_UP + MEASURED;
const RATIOS = [
  ["undici.request", "all stages", "at least 1.2"],
  ["undici.request, full payload", "all stages, full payload", "at least 1.2"],
  ["undici.request", "deliver alone", "at least 1.2"],
  ["all stages, full payload", "all stages", "at most 1.1"],
  ["all stages", "all stages, log level warn", "at most 1.08"],
  ["all stages", "deliver alone", "at most 1.35"],
] as const;

interface Way {
  readonly stages?: readonly string[];
  readonly payload?: "standard" | "full";
  readonly logLevel?: "info" | "warn";
  readonly order?: "strict" | "loose";
}

type Results = ReadonlyMap<string, readonly Measured[]>;

export async function benchProduct(brokers: string, rounds: number): Promise<string> {
  using image = await imageStart();
  using receiver = await startReceiver();
  // The deliver stage reads the records that the route stage writes in the same turn. If it runs alone, it has separate
  // topics.
  await using whole = new Workbench(brokers);
  await using alone = new Workbench(brokers);
  const { calls } = whole.topics;
  await whole.create([calls]);
  await whole.fill(TOTAL, (number) => recordOf(calls, productCall(number)));
  const topic = alone.deliveries("d1");
  await alone.create([topic]);
  await alone.fill(TOTAL, (number) =>
    benchDelivery(topic, 0, number, { call: productCall(number) }),
  );
  const ours = (name: string, way: Way): Turn => {
    const bench = way.stages === undefined ? whole : alone;
    return { name, run: () => turn(bench, way, image, receiver) };
  };
  const ceiling = (name: string, payload: string): Turn => ({
    name,
    run: async () => {
      await receiver.reset();
      const work = [IN_FLIGHT, MEASURED, WARM_UP, receiver.url, payload].map(String);
      return await runOnce({ name, argv: ["bench/deliver-ceiling.ts", ...work], nodeFlags: [] });
    },
  });
  const turns = [
    ceiling("undici.request", "standard"),
    ours("all stages", {}),
    ours("all stages, log level warn", { logLevel: "warn" }),
    ours("deliver alone", { stages: ["deliver"] }),
    ceiling("undici.request, full payload", "full"),
    ours("all stages, full payload", { payload: "full" }),
  ];
  const results = await measureInTurns(turns, rounds);
  return `${figures(results)}\n\n${ratios(results)}`;
}

function figures(results: Results): string {
  return markdown(
    [...results].map(([name, measured]) => {
      const { cpuMsPerThousand, unitsPerSecond, rssMaxMb } = summarise(name, measured);
      return {
        program: name,
        "CPU ms / 1,000": cpuMsPerThousand.toFixed(1),
        "deliveries / s": unitsPerSecond.toFixed(0),
        "peak MB": rssMaxMb.toFixed(0),
      };
    }),
  );
}

/** Computes the ratios of each round, so that changes of the machine's speed do not affect them. */
function ratios(results: Results): string {
  return markdown(
    RATIOS.map(([over, under, goal]) => {
      const below = results.get(under) ?? [];
      const each = (results.get(over) ?? []).map((measured, round) => {
        const other = below[round];
        return other === undefined ? Number.NaN : perThousand(measured) / perThousand(other);
      });
      return {
        "ratio of CPU": `${over} / ${under}`,
        median: median(each).toFixed(2),
        "of the rounds": `${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)}`,
        goal,
      };
    }),
  );
}

/** Delivers the backlog of a bench. */
export async function turn(
  bench: Workbench,
  { stages, payload = "standard", logLevel = "info", order = "loose" }: Way,
  image: ImageStart,
  receiver: Receiver,
): Promise<Measured> {
  const { groups, topics } = bench;
  // If there is a route stage, the deliver stage has already read the records that were written before.
  await bench.forgetGroups(
    stages === undefined
      ? [groups.route, topics.calls]
      : [`${topics.prefix}deliver.d1`, bench.deliveries("d1")],
  );
  await receiver.reset();
  const destinations = [{ id: "d1", url: receiver.url, payload, concurrency: IN_FLIGHT, order }];
  const some = stages === undefined ? {} : { stages };
  await using program = await bench.start({ destinations, logLevel, image, ...some });
  await receiver.untilCount(WARM_UP);
  const from = { cpuMs: program.cpuMs(), units: await receiver.count(), atMs: performance.now() };
  await receiver.untilCount(TOTAL);
  const cpuMs = program.cpuMs() - from.cpuMs;
  const wallMs = performance.now() - from.atMs;
  const rssMaxMb = (await program.metric("process_resident_memory_bytes")) / 2 ** 20;
  return { units: TOTAL - from.units, cpuMs, wallMs, rssMaxMb };
}
