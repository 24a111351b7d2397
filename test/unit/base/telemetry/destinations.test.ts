// The size of the metrics with 1,000 destinations, and the destinations that have histograms.

import { describe, expect, test } from "vitest";
import {
  createMetrics,
  type DestinationDetail,
  type Metrics,
} from "../../../../src/base/telemetry/instruments.ts";
import { Busiest } from "../../../../src/base/telemetry/top-destinations.ts";
import { WAITING_SHOWN_MAX } from "../../../../src/router/delay/gauges.ts";
import { OwnedCounts } from "../../../../src/router/delay/owned-counts.ts";
import { reportWaiting } from "../../../../src/router/delay/report.ts";
import { Labels } from "../../../../src/router/delay/tally.ts";
import { Report } from "../../../../src/router/deliver/report.ts";
import { watchConsumer } from "../../../../src/router/stage/watch-consumer.ts";
import { waitingOf } from "../../../support/build/waiting-of.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const SENDER = { send: () => undefined, span: () => ({ name: "", attributes: {} }) };
const CLOCK = { nowMs: () => 10_000, sleep: () => Promise.resolve() };
const HOLD = { reason: "circuit-open", sinceMs: 5_000, untilMs: null } as const;
const DELAYS = ["10s", "30s", "2m", "5m", "15m", "30m", "60m"];
const VITALS = {
  isAssigned: true,
  ...{ fetchedAtMs: 9_000, heardAtMs: 9_000 },
  ...{
    commitFailures: 0,
    foreignMembers: [] as string[],
    unreadTopics: [] as string[],
    halts: [] as Error[],
  },
};

/** Makes one delivery of each destination wait for each retry delay. */
function allWait(metrics: Metrics, ids: readonly string[], shownMax: number): void {
  const labels = new Labels(ids);
  const counts = new OwnedCounts(labels);
  const inFlight = () => ids.map((id) => waitingOf(id, { firstAttemptAtMs: 1_790_000_000_123 }));
  const delays = DELAYS.map((delay) => {
    const place = { topic: `switchyard.delays.${delay}`, partition: 0 };
    counts.begin({ ...place, delay, inFlight, isGone: () => false, isOver: () => false });
    const seen = { ...place, position: 0, next: 0, end: 0, inFlight: 0, oldestUnfinishedMs: null };
    const progress = () => [{ ...seen, endAtMs: CLOCK.nowMs() }];
    return { delay, consumer: { progress, vitals: () => VITALS } };
  });
  for (const nowMs of [0, 5_000]) {
    for (const { delay, consumer } of delays) counts.look(delay, consumer.progress(), nowMs);
  }
  reportWaiting(metrics, CLOCK, {
    labels,
    counts,
    delays: delays,
    retryWindowMs: 14_400_000,
    shownMax,
  });
}

/** Binds the metrics of attempted destinations in the same way as the deliver and route stages, and scrapes them. */
async function scraped(detail: DestinationDetail, count = 1_000) {
  const metrics = createMetrics(detail);
  for (let number = 0; number < count; number += 1) {
    const id = `destination-${number}`;
    const destination = webhookDestination({ id });
    const deps = { metrics, clock: CLOCK, log: new LogLines().log };
    const report = new Report(deps, destination, { sender: SENDER, group: "" });
    report.watch(() => (number === 7 ? HOLD : null));
    const labels = { stage: "deliver", destination: id } as const;
    const consumer = { progress: () => [], vitals: () => VITALS };
    const counts = { rebalances: () => 1, offsetResets: () => 0 };
    watchConsumer(metrics, { ...consumer, ...counts }, labels, CLOCK);
    metrics.consumerRestarts.bind(labels);
    metrics.callsRouted.bind({ destination: id }).inc(number);
    metrics.requests.bind({ destination: id, outcome: "2xx" }).inc(number);
    metrics.attempts.bind({ destination: id, outcome: "accepted" }).inc(number);
    metrics.attemptDuration.bind({ destination: id }).observe(0.02);
    metrics.deliveryLatency.bind({ destination: id }).observe(0.1);
  }
  const ids = Array.from({ length: count }, (_, number) => `destination-${number}`);
  allWait(metrics, ids, detail === "full" ? Number.POSITIVE_INFINITY : WAITING_SHOWN_MAX);
  const text = await metrics.text();
  return { text, series: text.split("\n").filter((line) => /^[^#]/.test(line)).length };
}

describe("with 1,000 destinations", () => {
  test("counts stays under 20,000 series and 1.5 MB, and counts all in one histogram", async () => {
    const { text, series } = await scraped("counts");
    expect(series).toBeGreaterThan(10_000);
    expect(series).toBeLessThan(20_000);
    expect(Buffer.byteLength(text)).toBeLessThan(1_500_000);
    const duration = "switchyard_delivery_attempt_duration_seconds_count";
    expect(text).toContain(`${duration}{destination=""} 1000\n`);
    expect(text).toContain('switchyard_delivery_requests_total{destination="destination-7",');
    expect(text.match(/^switchyard_deliveries_awaiting_retry{.*"10s"} 1$/gm)).toHaveLength(
      WAITING_SHOWN_MAX,
    );
    expect(text).toContain(
      'switchyard_deliveries_awaiting_retry{destination="",delay="10s"} 950\n',
    );
    expect(text.match(/^switchyard_destination_on_hold{.*$/gm)).toEqual([
      'switchyard_destination_on_hold{destination="destination-7",reason="circuit-open"} 1',
    ]);
    expect(text.match(/^switchyard_destination_on_hold_since_timestamp_seconds{.*$/gm)).toEqual([
      'switchyard_destination_on_hold_since_timestamp_seconds{destination="destination-7"} 5',
    ]);
  });

  test("full has them all; top only those of the busiest", async () => {
    const count = (text: string) =>
      text.match(/^switchyard_delivery_attempt_duration_seconds_count/gm)?.length;
    const full = await scraped("full");
    expect(count(full.text)).toBe(1_000);
    expect(full.series).toBeGreaterThan(40_000);
    expect(full.text.match(/^switchyard_deliveries_awaiting_retry{/gm)).toHaveLength(7_000);
    const top = await scraped("top");
    expect(count(top.text)).toBe(25);
    expect(top.text).toContain('duration_seconds_count{destination="destination-999"} 1\n');
    expect(top.series).toBeLessThan(20_000);
    expect(Buffer.byteLength(top.text)).toBeLessThan(1_500_000);
  });
});

test("the proxy that fails has a series as long as the hold lasts, and nothing of it stays after a stop", async () => {
  const metrics = createMetrics();
  const deps = { metrics, clock: CLOCK, log: new LogLines().log };
  let hold: Parameters<Report["watch"]>[0] = () => null;
  const report = new Report(deps, webhookDestination({}), { sender: SENDER, group: "" });
  const end = report.watch(() => hold());
  const failing = async () => (await metrics.text()).match(/^switchyard_\w+_proxy_failing.*$/gm);
  const onHold = async () =>
    (await metrics.text()).match(/^switchyard_destination_on_hold(_since\w+)?\{.* [1-9]\d*$/gm);
  const series = (proxy: string) => [
    `switchyard_destination_proxy_failing{destination="crm",proxy="${proxy}"} 1`,
  ];
  expect(await failing()).toBeNull();
  for (const proxy of ["old:3128", "new:3128"]) {
    hold = () => ({ ...HOLD, reason: "proxy", proxy });
    expect(await failing()).toEqual(series(proxy));
  }
  hold = () => HOLD;
  expect(await failing()).toBeNull();
  hold = () => ({ ...HOLD, reason: "proxy", proxy: "new:3128" });
  expect([await failing(), (await onHold())?.length]).toEqual([series("new:3128"), 2]);
  end();
  expect([await failing(), await onHold()]).toEqual([null, null]);
});

describe("the busiest", () => {
  const requested = (outcome: string, from: number, to: number, count: number) =>
    Array.from({ length: to - from }, (_, at) => {
      return { destination: `d${from + at}`, outcome, count };
    });

  test("and the most failing are shown, 25 of each", () => {
    const busiest = new Busiest();
    const quiet = requested("2xx", 0, 100, 1);
    const busy = requested("2xx", 100, 130, 50);
    const failing = requested("timeout", 5, 8, 2);
    const shown = busiest.next([...quiet, ...busy, ...failing]);
    expect([...shown].filter((id) => Number(id.slice(1)) >= 100)).toHaveLength(25);
    expect(shown).toContain("d5");
    expect(shown).not.toContain("d9");
    expect(shown.size).toBe(28);
  });

  test("give way to others, and those that are gone at once", () => {
    const busiest = new Busiest();
    const before = requested("2xx", 0, 25, 100);
    expect(busiest.next(before)).toContain("d3");
    const now = [...before.slice(4), ...requested("2xx", 50, 75, 1_000)];
    const shown = busiest.next(now);
    expect(shown).toContain("d50");
    expect(shown).not.toContain("d3");
    expect(shown).not.toContain("d20");
  });
});
