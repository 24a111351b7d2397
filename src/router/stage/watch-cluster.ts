/**
 * Sets the gauges for unreachable brokers and for throttling before each scrape, and names the unreachable brokers in
 * `/readyz`.
 */

import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { BrokerState, ClusterView, ProducerOptions } from "../../kafka/port.ts";

/** Disposing of the result removes the gauges. */
export function watchCluster(
  metrics: Metrics,
  view: ClusterView,
  clock: { nowMs(): number },
): Disposable {
  let shown: readonly string[] = [];
  const startedAtMs = clock.nowMs();
  const lagAge = metrics.lagAge.bind({});
  const throttledMs = new Map<string, number>();
  const countThrottles = () => {
    for (const [broker, totalMs] of view.throttledMs()) {
      const moreMs = totalMs - (throttledMs.get(broker) ?? 0);
      throttledMs.set(broker, totalMs);
      metrics.kafkaThrottle.bind({ broker }).inc(moreMs / 1_000);
    }
  };
  const show = () => {
    countThrottles();
    const brokers = view.brokers();
    const names = brokers.map(({ broker }) => broker);
    for (const broker of shown) if (!names.includes(broker)) remove(broker);
    for (const { broker, outage } of brokers) {
      metrics.kafkaConnected.bind({ broker }).set(outage === null ? 1 : 0);
      metrics.brokerUnreachableSince.bind({ broker }).set((outage?.sinceMs ?? 0) / 1_000);
    }
    shown = names;
    lagAge.set((clock.nowMs() - (view.endsAtMs() ?? startedAtMs)) / 1_000);
  };
  const remove = (broker: string) => {
    metrics.kafkaConnected.remove({ broker });
    metrics.brokerUnreachableSince.remove({ broker });
  };
  const stop = metrics.onScrape(show);
  return {
    [Symbol.dispose]: () => {
      stop();
      for (const broker of shown) remove(broker);
    },
  };
}

/** Counts a producer's responses and repeated batches. */
export function produceSignals(
  metrics: Metrics,
): Required<Pick<ProducerOptions, "onResponse" | "onRetried">> {
  const duration = metrics.produceDuration.bind({});
  return {
    onResponse: (durationMs) => duration.observe(durationMs / 1_000),
    onRetried: (error) => metrics.produceErrors.bind({ error }).inc(),
  };
}

/** Returns a sentence for each broker that is unreachable. */
export function clusterHealthProblems(brokers: readonly BrokerState[]): readonly string[] {
  return brokers.flatMap(({ broker, outage }) => {
    if (outage === null) return [];
    const since = new Date(outage.sinceMs).toISOString();
    return [`Kafka broker ${broker} has been unreachable since ${since}: ${outage.error}`];
  });
}
