/** The only broker of a cluster is killed, and is restarted later. */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { responds } from "../../tools/kafka/probe.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { ABSENT, type Comparison, counted, dated, worded } from "./comparison.ts";
import { DrilledWorld, fineOf } from "./drilled-world.ts";
import type { Row } from "./judge.ts";
import { type Look, metric } from "./look.ts";
import type { DrillOptions, LoneHealthProblem } from "./problem.ts";
import { exactly, own } from "./program-problems.ts";

const NAME = "kafka-unreachable";
const FINE_LIMIT_MS = 30_000;
const OUTAGE_LIMIT_MS = 45_000;
/** Longer than the interval between two log lines about the outage. */
const OUTAGE_LEAST_MS = 80_000;
const BACK_LIMIT_MS = 60_000;
/** The time for which a gauge may be wrong. */
const NOTICED_MS = 15_000;
const LOGGED_EVERY_MS = 60_000;
const CONSUMERS_MAX = 100;
const STAGES_WITH_LAG = ["route", "deliver", "delay", "audience", "deletion"];
const STAGES = [...STAGES_WITH_LAG, "ingest"];

export const KAFKA_UNREACHABLE: LoneHealthProblem = {
  kind: "alone",
  name: NAME,
  summary: "the only broker is killed, and comes back after a minute",
  run: drillKafkaUnreachable,
};

/** @param leastMs the minimum duration of the outage. */
async function drillKafkaUnreachable(
  options: DrillOptions,
  leastMs = OUTAGE_LEAST_MS,
): Promise<readonly Row[]> {
  await using kafka = await startKafka({ private: true, log: options.say });
  await using world = await DrilledWorld.start([], { ...options, brokers: kafka.brokers });
  const { product } = world;
  const before = await world.settle("before", FINE_LIMIT_MS, (look) => [
    ...fine(look),
    own(NAME, isBack(look, kafka)),
  ]);
  await options.hooks?.onFine?.(product);
  options.say("the broker is killed");
  const killedAtMs = Date.now();
  await kafka.kill();
  if (await responds(kafka.brokers[0] ?? "")) throw new Error("the killed broker responds");
  const during = await world.settle(
    "during",
    OUTAGE_LIMIT_MS,
    (look) => [own(NAME, whileUnreachable(look, kafka, killedAtMs))],
    leastMs,
  );
  await options.hooks?.onHealthProblem?.(product, [NAME]);
  options.say("the broker is started again");
  await kafka.restart();
  const backAtMs = Date.now();
  const after = await world.settle("mended", BACK_LIMIT_MS, (look) => [
    ...fine(look),
    own(NAME, [...isBack(look, kafka), reportedBack(look, { killedAtMs, backAtMs })]),
  ]);
  await options.hooks?.onMended?.(product, [NAME]);
  return [...before, ...during, ...after];
}

const fine = (look: Look) => fineOf(look, { problem: NAME, isAlways: false });

function isBack(look: Look, { brokers: [broker = ""] }: PrivateKafka): readonly Comparison[] {
  return [
    counted("metrics: connected", metric(look, METRICS.kafkaConnected, { broker }), exactly(1)),
    counted(
      "metrics: unreachable since",
      metric(look, METRICS.brokerUnreachableSince, { broker }),
      exactly(0),
    ),
    counted("metrics: consumers with unknown lag", metric(look, METRICS.lagUnknown), exactly(0)),
  ];
}

function whileUnreachable(
  look: Look,
  kafka: PrivateKafka,
  killedAtMs: number,
): readonly Comparison[] {
  const [broker = ""] = kafka.brokers;
  const since = metric(look, METRICS.brokerUnreachableSince, { broker }) ?? 0;
  const { out, err } = look.status;
  const namesBroker = `${out}${err}`.includes(broker);
  const lags = look.metrics.filter(({ name }) => name === METRICS.lag.name);
  const parts = STAGES.filter((stage) =>
    (look.ready?.parts[stage] ?? []).some((problem) => problem.includes(broker)),
  );
  const reported = look.lines.filter(({ msg, atMs }) => isOutageLine(msg) && atMs >= killedAtMs);
  const lastAgoMs = look.toMs - (reported.at(-1)?.atMs ?? 0);
  return [
    counted("metrics: connected", metric(look, METRICS.kafkaConnected, { broker }), exactly(0)),
    dated("metrics: unreachable since", since === 0 ? null : since * 1_000, {
      from: killedAtMs - NOTICED_MS,
      to: killedAtMs + NOTICED_MS,
    }),
    worded("metrics: lags", lags.length === 0 ? ABSENT : `${lags.length} of them`, [ABSENT]),
    counted("metrics: consumers with unknown lag", metric(look, METRICS.lagUnknown), {
      from: STAGES_WITH_LAG.length,
      to: CONSUMERS_MAX,
    }),
    worded("readyz: its status", `${look.ready?.status ?? ABSENT}`, ["200"]),
    worded("readyz: stages that name the broker", parts.join(" "), [STAGES.join(" ")]),
    worded("status: exit status", `${look.status.status}`, ["1"]),
    worded("status", namesBroker ? "names the broker" : err, ["names the broker"]),
    {
      signal: "log: last line about it",
      said: reported.length === 0 ? ABSENT : `${Math.round(lastAgoMs / 1_000)} s ago`,
      truth: "at most 60 s ago",
      ok: reported.length > 0 && lastAgoMs <= LOGGED_EVERY_MS + NOTICED_MS,
    },
  ];
}

function reportedBack(
  { lines }: Look,
  { killedAtMs, backAtMs }: { readonly killedAtMs: number; readonly backAtMs: number },
): Comparison {
  const line = lines.findLast(({ msg }) => msg === "kafka.broker.reachable");
  const tookMs = Number(line?.unreachableForMs ?? Number.NaN);
  const truthMs = backAtMs - killedAtMs;
  const isNear = tookMs >= truthMs - NOTICED_MS && tookMs <= truthMs + 2 * NOTICED_MS;
  return {
    signal: "log: how long it was unreachable",
    said: line === undefined ? ABSENT : `${Math.round(tookMs / 1_000)} s`,
    truth: `${Math.round(truthMs / 1_000)} s`,
    ok: line !== undefined && isNear,
  };
}

function isOutageLine(msg: string): boolean {
  return msg === "kafka.broker.unreachable";
}
