/** Compares the signals of a destination's deliveries awaiting retry: their number, and their earliest times. */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { delayName } from "../../src/domain/topics.ts";
import { type Comparison, counted, dated, type Range } from "./comparison.ts";
import { samplesOf, type WaitingRecords, waitingRange, waitingRecords } from "./kafka-ranges.ts";
import { isOf, type SeenRecord } from "./kafka-truth.ts";
import { type Look, metric, statusRow } from "./look.ts";
import { RETRY_DELAYS_MS } from "./product.ts";

/** The maximum age of the signals. */
const AGE_MS = 15_000;

export function waitingSignals(look: Look, id: DestinationId): readonly Comparison[] {
  const { samples, records, product } = look.truth;
  const recent = samplesOf(samples, { from: look.fromMs - AGE_MS, to: look.toMs });
  const delays = RETRY_DELAYS_MS.map((delayMs) => {
    const delay = delayName(delayMs);
    const place = { group: product.groups.delay(delay), topic: product.topics.delays(delayMs) };
    return { delay, found: waitingRecords(recent, records, place, (record) => isOf(record, id)) };
  });
  const all = delays.flatMap(({ found }) => found ?? []);
  const said = (which: { readonly name: string }) => {
    const seconds = metric(look, which, { destination: id });
    return seconds === null ? null : seconds * 1_000;
  };
  return [
    ...delays.map(({ delay, found }) => {
      const labels = { destination: id, delay };
      // Zeros are omitted, and a delay that is unknown is counted below.
      const waiting = metric(look, METRICS.deliveriesWaiting, labels) ?? 0;
      return counted(`metrics: waiting in ${delay}`, waiting, waitingRange(found));
    }),
    counted("status: awaiting retry", statusRow(look, id)?.awaitingRetry ?? null, sumOf(all)),
    counted("metrics: retry delays not known", metric(look, METRICS.waitingUnknown), {
      from: 0,
      to: 0,
    }),
    earliest("metrics: next due", said(METRICS.nextDue), all, dueAtMs),
    earliest(
      "metrics: oldest waiting",
      said(METRICS.oldestWaiting),
      all,
      (each) => each.writtenAtMs,
    ),
  ];
}

function sumOf(all: readonly WaitingRecords[]): Range {
  const ranges = all.flatMap((found) => waitingRange(found) ?? []);
  return {
    from: ranges.reduce((sum, { from }) => sum + from, 0),
    to: ranges.reduce((sum, { to }) => sum + to, 0),
  };
}

/** If the delivery arrived or left during the check, any value may be correct. */
function earliest(
  signal: string,
  saidMs: number | null,
  delays: readonly WaitingRecords[],
  timeOf: (record: SeenRecord) => number,
): Comparison {
  const least = (of: (found: WaitingRecords) => readonly SeenRecord[]) =>
    Math.min(...delays.flatMap((found) => of(found).map(timeOf)));
  const [ever, always] = [least((found) => found.ever), least((found) => found.always)];
  if (ever === Number.POSITIVE_INFINITY) return dated(signal, saidMs, null);
  if (always === Number.POSITIVE_INFINITY && saidMs === null) {
    return { signal, said: "none", truth: "maybe none", ok: true };
  }
  const to = Math.min(always, latest(delays, timeOf));
  return dated(signal, saidMs, { from: ever, to });
}

function latest(delays: readonly WaitingRecords[], timeOf: (record: SeenRecord) => number): number {
  return Math.max(...delays.flatMap(({ ever }) => ever.map(timeOf)));
}

function dueAtMs({ headers }: SeenRecord): number {
  return Number(headers.get("switchyard-due-at"));
}
