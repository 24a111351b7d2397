/** Puts together what Kafka and the processes say: the object that `status --json` prints. */

import { METRICS } from "../../telemetry/metrics.ts";
import type { Sample } from "../metrics-text.ts";
import { hashOf } from "../scrape.ts";
import {
  type BlockedTopicReport,
  type Breakers,
  blockedTopics,
  breakersOf,
  brokersAway,
  type HaltReport,
  haltsOf,
  rateOf,
} from "./rates.ts";
import type { Scraped } from "./scrape.ts";
import type { KafkaStatus } from "./status.ts";
import type { Waiting } from "./waiting.ts";

/** Null means: not known. Ages and times to come are milliseconds. */
export interface StatusReport {
  readonly at: string;
  readonly stages: readonly StageReport[];
  readonly tiers: readonly TierReport[];
  readonly deadLetters: {
    readonly retained: number;
    readonly lastDay: number;
    readonly byReason: Readonly<Record<string, number>> | null;
  } | null;
  /** Topics that take nothing now, as the processes reached see it. */
  readonly blockedTopics: readonly BlockedTopicReport[];
  readonly processes: readonly ProcessReport[];
}

export interface ProcessReport extends RunningConfig {
  readonly admin: string;
  readonly error: string | null;
  /** Kafka brokers that do not answer it, and since when. */
  readonly brokersAway: readonly { readonly broker: string; readonly since: string }[];
}

export interface RunningConfig {
  /** The configuration that it runs, in 12 hex digits; null: not known. */
  readonly configHash: string | null;
  /** Since when it refuses the file on disk, as in ISO 8601; null: it does not. */
  readonly configInvalidSince: string | null;
  /** Settings of the file that count after a restart. */
  readonly settingsToRestart: number;
  /** Destinations of the file that wait for their topics. */
  readonly destinationsWaiting: number;
}

export interface StageReport {
  readonly stage: string;
  readonly destination: string | null;
  readonly lag: number | null;
  readonly oldestMs: number | null;
  readonly donePerMinute: number | null;
  readonly failedPerMinute: number | null;
  readonly deadLettersLastDay: number | null;
  readonly breakers: Breakers | null;
  /** The damaged batches at which it stands, as Kafka and the processes that were reached know. */
  readonly halts: readonly HaltReport[];
  readonly note: string | null;
}

export interface TierReport {
  readonly tier: string;
  readonly waiting: number | null;
  readonly oldestMs: number | null;
  /** Below 0: overdue. */
  readonly dueInMs: number | null;
  readonly retired: boolean;
}

export function statusReport(
  { stages, tiers, letters }: KafkaStatus,
  scraped: readonly Scraped[],
  nowMs: number,
): StatusReport {
  const processes = scraped.flatMap((found) => (found.kind === "process" ? found.process : []));
  return {
    at: new Date(nowMs).toISOString(),
    stages: stages.map(({ stage, destination, waiting, note }) => {
      const rate = rateOf(processes, stage, destination);
      return {
        stage,
        destination,
        lag: waiting?.records ?? null,
        oldestMs: oldestMs(waiting, nowMs),
        donePerMinute: rounded(rate?.donePerMinute),
        failedPerMinute: rounded(rate?.failedPerMinute),
        deadLettersLastDay: lettersFor(letters, destination),
        breakers: destination === null ? null : breakersOf(processes, destination),
        halts: haltsOf(processes, stage, destination, waiting?.damaged ?? []),
        note,
      };
    }),
    tiers: tiers.map(({ tier, waiting, isRetired }) => {
      const dueAtMs = waiting?.dueAtMs ?? null;
      return {
        tier,
        waiting: waiting?.records ?? null,
        oldestMs: oldestMs(waiting, nowMs),
        dueInMs: dueAtMs === null ? null : dueAtMs - nowMs,
        retired: isRetired,
      };
    }),
    deadLetters: letters && {
      retained: letters.retained,
      lastDay: letters.lastDay,
      byReason: letters.counts && Object.fromEntries(letters.counts.byReason),
    },
    blockedTopics: blockedTopics(processes),
    processes: scraped.map((found) => ({
      admin: found.address,
      error: found.kind === "process" ? null : found.why,
      brokersAway: found.kind === "process" ? brokersAway(found.process) : [],
      ...runningConfig(found.kind === "process" ? found.process.after.samples : []),
    })),
  };
}

function runningConfig(samples: readonly Sample[]): RunningConfig {
  const value = (metric: string) => samples.find(({ name }) => name === metric)?.value ?? 0;
  const invalidSinceS = value(METRICS.configInvalidSince.name);
  return {
    configHash: hashOf(samples),
    configInvalidSince: invalidSinceS > 0 ? new Date(invalidSinceS * 1_000).toISOString() : null,
    settingsToRestart: value(METRICS.configNeedsRestart.name),
    destinationsWaiting: value(METRICS.configHeldBack.name),
  };
}

function oldestMs(waiting: Waiting | null, nowMs: number): number | null {
  if (waiting === null || waiting.oldestAtMs === null) return null;
  return Math.max(0, nowMs - waiting.oldestAtMs);
}

function lettersFor(letters: KafkaStatus["letters"], destination: string | null): number | null {
  if (destination === null || letters === null || letters.counts === null) return null;
  return letters.counts.byDestination.get(destination) ?? 0;
}

/** To a tenth. */
function rounded(perMinute: number | undefined): number | null {
  return perMinute === undefined ? null : Math.round(perMinute * 10) / 10;
}
