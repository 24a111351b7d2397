/**
 * Replays dead letters as `switchyard dead-letters replay --message-id` does, and resumes the replay until it is done: an
 * audit reports a replay that has not ended.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config/load.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import {
  type DeadLetterReplayOptions,
  openDeadLetterReplay,
} from "../../src/operator/replay/dead-letter-replay.ts";
import type { CanaryReplay } from "./canary-laws.ts";
import { topics } from "./setup.ts";

const RESUME_MS = 1_000;
/** Longer than any outage. */
const LIMIT_MS = 300_000;
const NO_PROGRESS = {
  say: () => undefined,
  end: () => undefined,
  [Symbol.dispose]: () => undefined,
};
const SILENT = { follow: () => NO_PROGRESS, err: () => undefined };

interface Sent {
  readonly count: number;
  readonly suppressed: number;
  /** The name of the replay, if it is not done. */
  readonly resume: string | null;
}

/**
 * @param config the programs' configuration.
 * @param includeReplayed if true, dead letters that were replayed before are included.
 * @returns how many dead letters were replayed, and how many were skipped because their users were suppressed.
 * @throws Error if it is not done for minutes.
 */
export async function replayDeadLettersOf(
  kafka: Kafka,
  config: string,
  { messageIds, sinceMs }: CanaryReplay,
  includeReplayed: boolean,
): Promise<{ readonly sent: number; readonly suppressed: number }> {
  const filter = { destinations: [], reasons: [], messageIds, sinceMs, untilMs: null };
  const plan = { filter, limit: null, perSecond: null, includeReplayed };
  let chosen: DeadLetterReplayOptions["chosen"] = { kind: "new", plan };
  let suppressed = 0;
  for (const untilMs = Date.now() + LIMIT_MS; ; await sleep(RESUME_MS)) {
    try {
      const sent = await replay(kafka, config, chosen);
      suppressed += sent.suppressed;
      if (sent.resume === null) return { sent: sent.count, suppressed };
      chosen = { kind: "resume", name: sent.resume, perSecond: null };
    } catch (error) {
      if (Date.now() >= untilMs) throw error;
    }
  }
}

async function replay(
  kafka: Kafka,
  config: string,
  chosen: DeadLetterReplayOptions["chosen"],
): Promise<Sent> {
  const loaded = loadConfig({ file: "chaos.yaml", env: {}, content: Buffer.from(config) });
  if (loaded.kind === "invalid") throw new Error("the configuration is invalid");
  const { destinations, audit } = loaded.config;
  const { signal } = new AbortController();
  const options = { chosen, dryRun: false, topics, destinations, registry: null, signal };
  await using opened = await openDeadLetterReplay(kafka, { ...options, hasLedger: audit.enabled });
  // It was done when its process lost the brokers.
  if (opened === null) return { count: 0, suppressed: 0, resume: null };
  const tally = await opened.count(SILENT);
  if (tally === null) throw new Error("the count was interrupted");
  const { total, suppressed } = tally;
  if (total === 0 && chosen.kind === "new") return { count: 0, suppressed, resume: null };
  const { end, counts, name } = await opened.send(tally, SILENT);
  return { count: counts.written ?? 0, suppressed, resume: end === "done" ? null : name };
}
