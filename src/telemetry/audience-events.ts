/** What happens to audiences, as metrics and log lines. User ids are in neither. */

import type { Metrics } from "./instruments.ts";
import type { Log } from "./log.ts";

/** The parts of the audience stage's reports that are told. */
export interface ToldAudience {
  readonly id: string;
  readonly key: string;
}

export interface ToldSync {
  readonly audience: ToldAudience;
  readonly syncId: string;
  readonly outcome: string;
  readonly members: number;
  readonly left: number;
  readonly arrived: number;
  readonly beganAtMs: number;
}

export interface AudienceEvents {
  readonly started: (audience: ToldAudience, syncId: string) => void;
  readonly ended: (sync: ToldSync) => void;
  readonly told: (told: Readonly<Record<"entered" | "left" | "traits", number>>) => void;
  readonly applied: (records: number) => void;
}

/** What somebody should look at. */
const UNUSUAL = new Set(["held", "abandoned", "wrong-count"]);

export function audienceEvents(deps: {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: { nowMs(): number };
}): AudienceEvents {
  const { metrics, log, clock } = deps;
  const stage = "audience";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const entered = metrics.audienceChanges.bind({ change: "entered" });
  const left = metrics.audienceChanges.bind({ change: "left" });
  const traits = metrics.audienceChanges.bind({ change: "trait" });
  return {
    started: ({ id, key }, syncId) => {
      metrics.audienceSyncs.bind({ outcome: "started" }).inc();
      log.info({ audience: id, key, sync: syncId }, "audience.sync.started");
    },
    ended: ({ audience, syncId, outcome, ...rest }) => {
      const durationMs = Math.max(0, clock.nowMs() - rest.beganAtMs);
      metrics.audienceSyncs.bind({ outcome }).inc();
      metrics.audienceSyncDuration.bind({ outcome }).observe(durationMs / 1_000);
      const { members, arrived } = rest;
      const fields = {
        ...{ audience: audience.id, key: audience.key, sync: syncId, outcome },
        ...{ members, arrived, left: rest.left, durationMs },
      };
      if (UNUSUAL.has(outcome)) log.warn(fields, "audience.sync.ended");
      else log.info(fields, "audience.sync.ended");
    },
    told: (told) => {
      entered.inc(told.entered);
      left.inc(told.left);
      traits.inc(told.traits);
    },
    applied: (records) => recordsIn.inc(records),
  };
}

/** What is known of a partition's audiences. */
export interface WatchedAudiences {
  audiences(): Iterable<{ readonly first: number; readonly open: unknown; readonly held: unknown }>;
  counts(first: number): { readonly members: number };
}

/** Sets the gauges before each scrape, of the partitions owned then. Returns a function that ends it. */
export function watchAudiences(
  metrics: Metrics,
  works: ReadonlyMap<number, { state(): WatchedAudiences | null }>,
): () => void {
  const members = metrics.audienceMembers.bind({});
  const open = metrics.audienceOpenSyncs.bind({});
  const held = metrics.audienceHeldSyncs.bind({});
  return metrics.onScrape(() => {
    const sums = { members: 0, open: 0, held: 0 };
    for (const work of works.values()) {
      const state = work.state();
      for (const audience of state?.audiences() ?? []) {
        sums.members += state?.counts(audience.first).members ?? 0;
        sums.open += audience.open === null ? 0 : 1;
        sums.held += audience.held === null ? 0 : 1;
      }
    }
    members.set(sums.members);
    open.set(sums.open);
    held.set(sums.held);
  });
}
