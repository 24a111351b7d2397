/**
 * Reads the latest attempts of a destination from the `attempts` topic, if this topic exists. The topic contains the
 * attempts of all destinations, so reading may take long. Reading ends after 5 s, and returns the attempts found by
 * then, which are the latest ones.
 */

import { type AttemptRecord, parseAttemptRecord } from "../../../domain/attempt-record.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import { missingTopics } from "../../../router/stage/topic-keeper.ts";
import { configuredTopics } from "../../connect/connection.ts";
import { attemptText } from "../../timeline/sentences.ts";
import type { Query } from "../ports.ts";
import type { AttemptsView, AttemptView } from "../query-view.ts";
import type { QuerySource } from "./query-source.ts";
import { readLatest } from "./read-latest.ts";

const LIMIT_MS = 5_000;
const ATTEMPTS_MAX = 50;
const SINCE_MS = 86_400_000;
const OFF: AttemptsView = { isOn: false, attempts: [], since: null, isCut: false };

export async function readAttempts(
  { kafka, config, signal }: QuerySource,
  { destination }: Query,
): Promise<AttemptsView> {
  const { attempts: topic } = configuredTopics(config);
  // Attempts that were recorded earlier may still exist even if attempts are no longer recorded.
  if ((await missingTopics(kafka.admin, [topic])).length > 0) return OFF;
  const nowMs = Date.now();
  // The encoded value is searched first, so that records of other destinations, which are the majority, need not be
  // parsed.
  const bytes = Buffer.from(JSON.stringify(destination));
  const find = ({ value }: IncomingRecord): AttemptRecord | null => {
    if (value?.includes(bytes) !== true) return null;
    const parsed = parseAttemptRecord(value);
    return parsed?.destination === destination ? parsed : null;
  };
  const ports = {
    kafka,
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    nowMs: () => Date.now(),
  };
  const query = { topic, sinceMs: nowMs - SINCE_MS, most: ATTEMPTS_MAX, find };
  const { found, sinceMs, isCut } = await readLatest(ports, query);
  const { showPayloads } = config.console;
  return {
    isOn: config.attempts.enabled,
    attempts: found.map(({ value }) => attemptView(value, showPayloads)),
    since: new Date(sinceMs).toISOString(),
    isCut,
  };
}

/**
 * @param showPayloads true if the starts of responses may be shown. They can contain data that was sent to the
 *   endpoint.
 */
function attemptView(
  { endedAtMs, messageId, attempt, decision, batch, requests, next }: AttemptRecord,
  showPayloads: boolean,
): AttemptView {
  const shown = showPayloads ? requests : requests.map((each) => ({ ...each, response: null }));
  const retryMs = next.map(({ atMs }) => atMs);
  return {
    at: new Date(endedAtMs).toISOString(),
    messageId,
    attempt,
    decision,
    text: attemptText({ requests: shown, batch }),
    retryAt: retryMs.length === 0 ? null : new Date(Math.min(...retryMs)).toISOString(),
    tone: decision === "accepted" ? "good" : decision === "retry" ? "warn" : "bad",
  };
}
