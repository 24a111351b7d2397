/** The topic of a destination is deleted, and is recreated only when an operator does so. */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { type Comparison, counted, dated, worded } from "./comparison.ts";
import { FINE, NOT_KNOWN } from "./expected.ts";
import { samplesOf } from "./kafka-ranges.ts";
import { isOf } from "./kafka-truth.ts";
import { type Look, metric } from "./look.ts";
import type { DestinationHealthProblem } from "./problem.ts";
import { RETRY_DELAYS_MS } from "./product.ts";
import { COUNTING_MS, NOTICED_MS } from "./state-signals.ts";

export const TOPIC_GONE: DestinationHealthProblem = {
  kind: "destination",
  name: "topic-gone",
  summary: "its topic is deleted",
  make: async ({ kafka: { kafka }, topics }, id) =>
    await kafka.admin.deleteTopics([topics.deliveries(id)]),
  expected: { ...FINE, isNamed: true, state: NOT_KNOWN, hasTopic: false, warnings: "some" },
  also: topicSignals,
  mend: async (product) => {
    const { status, err } = await product.command(["topics", "--apply"]);
    if (status !== 0) throw new Error(`the topic cannot be made again: ${err}`);
  },
};

function topicSignals(look: Look, id: DestinationId, madeAtMs: number): readonly Comparison[] {
  const { product, samples, records } = look.truth;
  const topic = product.topics.deliveries(id);
  const isThere = samples.at(-1)?.ends.has(topic) === true;
  const blocked = metric(look, METRICS.topicBlockedSince, { topic, destination: id }) ?? 0;
  const report = look.status.report?.unwritableTopics.find((each) => each.topic === topic);
  const around = metric(look, METRICS.rerouted, { destination: id, stage: "route" });
  const delayTopics = RETRY_DELAYS_MS.map(product.topics.delays);
  const scheduled = records.filter(
    (record) => isOf(record, id) && delayTopics.includes(record.topic),
  );
  const recent = samplesOf(samples, { from: look.fromMs - COUNTING_MS, to: look.toMs });
  const since = recent[0]?.fromMs ?? 0;
  return [
    worded("the topic", isThere ? "is there" : "is gone", ["is gone"]),
    dated("metrics: topic blocked since", blocked === 0 ? null : blocked * 1_000, {
      from: madeAtMs - COUNTING_MS,
      to: madeAtMs + NOTICED_MS,
    }),
    dated("status: rejected writes since", report === undefined ? null : Date.parse(report.since), {
      from: madeAtMs - COUNTING_MS,
      to: madeAtMs + NOTICED_MS,
    }),
    counted("metrics: went around", around, {
      from: scheduled.filter(({ seenAtMs }) => seenAtMs <= since).length,
      to: scheduled.length,
    }),
  ];
}
