/**
 * Compares the signals of a destination with its receiver's ledger and with Kafka. The comparisons are the same for
 * every destination at every moment; a problem only provides the expected values.
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { type Comparison, counted, type Range } from "./comparison.ts";
import type { Expected } from "./expected.ts";
import { lagRange, samplesOf, waitingRange, waitingRecords } from "./kafka-ranges.ts";
import { isOf, type SeenRecord } from "./kafka-truth.ts";
import { type Look, metric, statusRow } from "./look.ts";
import { COUNTING_MS, stateSignals } from "./state-signals.ts";
import { waitingSignals } from "./waiting-signals.ts";

/** The maximum age of a lag. */
const LAG_AGE_MS = 15_000;

/** @param madeAtMs when the destination's problem started; 0 if it has none. */
export function destinationSignals(
  look: Look,
  id: DestinationId,
  expected: Expected,
  madeAtMs = 0,
): readonly Comparison[] {
  return [
    ...ledgerSignals(look, id, expected),
    ...lagSignals(look, id, expected),
    ...deadLetterSignals(look, id),
    ...waitingSignals(look, id),
    ...stateSignals(look, id, expected, madeAtMs),
  ];
}

/** Compares with the responses of the receiver. */
function ledgerSignals(
  look: Look,
  id: DestinationId,
  { failures }: Expected,
): readonly Comparison[] {
  const attempts = metric(look, METRICS.attempts, { destination: id, outcome: "accepted" });
  const accepted = counted("metrics: accepted attempts", attempts ?? 0, responses(look, id, 200));
  if (failures === null) return [accepted];
  const { outcome, status } = failures;
  const signal = `metrics: requests ${outcome}`;
  const said = metric(look, METRICS.requests, { destination: id, outcome });
  // If no requests arrive, only the program counts them.
  const isSome = { signal, said: `${said ?? 0}`, truth: "above 0", ok: (said ?? 0) > 0 };
  return [accepted, status === null ? isSome : counted(signal, said, responses(look, id, status))];
}

/** The responses to the current process, whose counters started at 0. */
function responses({ fromMs, toMs, truth }: Look, id: DestinationId, status: number): Range {
  const { product } = truth;
  const all = product
    .receiver(id)
    .responses.filter((each) => each.status === status && each.atMs >= product.startedAtMs);
  const until = (ms: number) => all.filter(({ atMs }) => atMs <= ms).length;
  return { from: until(fromMs - COUNTING_MS), to: until(toMs) };
}

/** Compares with the log end offsets and the commits in Kafka. */
function lagSignals(look: Look, id: DestinationId, { hasTopic }: Expected): readonly Comparison[] {
  const recent = samplesOf(look.truth.samples, { from: look.fromMs - LAG_AGE_MS, to: look.toMs });
  const said = metric(look, METRICS.lag, { stage: "deliver", destination: id });
  return [
    counted("metrics: lag", said, hasTopic ? trueLag(look, id, recent) : null),
    counted(
      "status: what waits",
      statusRow(look, id)?.waiting ?? null,
      hasTopic ? trueLag(look, id) : null,
    ),
  ];
}

/** @param ends the log end offsets; by default, the current ones. */
export function trueLag(look: Look, id: DestinationId, ends = now(look)): Range | null {
  const { topics, groups } = look.truth.product;
  const both = [topics.deliveries(id), topics.retries(id)];
  return lagRange({ ends, commits: now(look) }, groups.deliver(id), both);
}

function now({ fromMs, toMs, truth }: Look) {
  return samplesOf(truth.samples, { from: fromMs, to: toMs });
}

function deadLetterSignals(look: Look, id: DestinationId): readonly Comparison[] {
  const { samples, records, product } = look.truth;
  const recent = samplesOf(samples, { from: look.fromMs - COUNTING_MS, to: look.toMs });
  const place = { group: "", topic: product.topics.deadLetters };
  const isOwn = (record: SeenRecord) => isOf(record, id);
  const truth = waitingRange(waitingRecords(recent, records, place, isOwn));
  const since = records.filter(({ writtenAtMs }) => writtenAtMs >= product.startedAtMs);
  const counts = waitingRange(waitingRecords(recent, since, place, isOwn));
  const written = metric(look, METRICS.deadLetters, { destination: id });
  return [
    counted("metrics: dead letters", written ?? 0, counts),
    counted("status: dead letters", statusRow(look, id)?.deadLettersLastDay ?? null, truth),
  ];
}
