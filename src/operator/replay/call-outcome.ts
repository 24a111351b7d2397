/** Formats the outcome of a replay of calls as text and as JSON. */

import { counted } from "../../base/words/count.ts";
import { table } from "../../base/words/table.ts";
import type { Colors } from "../connect/shell.ts";
import type { ReplayFigures } from "./replay.ts";
import type { CallReplayPlan, CountKey, Counts } from "./replay-store.ts";

export interface CallReplayOutcome {
  /** Null with `--dry-run`, which creates no replay. */
  readonly replay: string | null;
  readonly topic: string;
  readonly plan: CallReplayPlan;
  readonly end: "done" | "interrupted" | "failed" | "counted";
  /** The reason, if the replay failed. */
  readonly error: string | null;
  readonly counts: Counts;
  /** The command that resumes the replay; null if the replay is complete. */
  readonly resume: string | null;
}

const SAYS: Readonly<Record<string, string>> = {
  written: "written",
  refused: "rejected by the brokers: too large for the topic",
  "skipped:suppressed": "skipped: their users are suppressed",
  "skipped:disabled": "skipped: the destination is disabled",
  "skipped:not-connected": "skipped: their source is not connected to the destination",
  "skipped:named-false": "skipped: integrations set the destination to false",
  "skipped:all-false": "skipped: integrations set All to false",
  "filtered:type": "filtered: another type",
  "filtered:event": "filtered: another event",
};

const OUTSIDE = "written before --since, or at --until or later";

/** @param outside the caller's description of calls outside the time range, which names options or fields. */
function countText(key: string, outside = OUTSIDE): string {
  if (key === "filtered:time") return `filtered: ${outside}`;
  const [kind, reason] = key.split(":");
  return SAYS[key] ?? (kind === "invalid" ? `not a call: ${reason}` : key);
}

interface OutcomeRow {
  readonly key: CountKey;
  readonly count: number;
  readonly text: string;
}

/** The counts by outcome; empty if there were no calls. @param outside as for `countText`. */
export function outcomeRows(
  { counts, end }: Pick<CallReplayOutcome, "counts" | "end">,
  outside?: string,
): OutcomeRow[] {
  const order = ["written", "refused", "skipped", "invalid", "filtered"];
  const placeOf = (key: string) => order.indexOf(key.split(":")[0] ?? "");
  const keys = (Object.keys(counts) as CountKey[])
    .filter((key) => counts[key] !== 0)
    .sort((one, other) => placeOf(one) - placeOf(other) || one.localeCompare(other));
  return keys.map((key) => {
    const text =
      key === "written" && end === "counted" ? "would be written" : countText(key, outside);
    return { key, count: counts[key] ?? 0, text };
  });
}

export function outcomeText(outcome: CallReplayOutcome, { bold, yellow }: Colors): string {
  const found = outcomeRows(outcome);
  if (found.length === 0) return "This range contains no calls.\n";
  const rows = found.map(({ count, text }) => [count.toLocaleString("en"), text]);
  const text = table(["CALLS", "WERE"], rows, (cell, row) => {
    if (row < 0) return bold(cell);
    return found[row]?.key === "refused" ? yellow(cell) : cell;
  });
  return `${text}\n`;
}

/**
 * One line of JSON, in which every key is always present. The counts include all processes that worked on the
 * replay.
 */
export function outcomeJson({
  replay,
  topic,
  plan,
  end,
  error,
  counts,
  resume,
}: CallReplayOutcome) {
  const { destination, asked, perSecond } = plan;
  const of = (kind: string) =>
    Object.fromEntries(
      Object.entries(counts).flatMap(([key, count]) =>
        key.startsWith(`${kind}:`) ? [[key.slice(kind.length + 1), count]] : [],
      ),
    );
  return JSON.stringify({
    end,
    error,
    replay,
    resume,
    destination,
    topic,
    since: new Date(asked.sinceMs).toISOString(),
    until: asked.untilMs === null ? null : new Date(asked.untilMs).toISOString(),
    types: asked.types,
    events: asked.events,
    perSecond,
    written: counts.written ?? 0,
    rejected: counts.refused ?? 0,
    skipped: of("skipped"),
    invalid: of("invalid"),
    filtered: of("filtered"),
  });
}

export function progressText({ read, counts }: ReplayFigures, total: number): string {
  const written = (counts.written ?? 0).toLocaleString("en");
  return `${read.toLocaleString("en")} of ${counted(total, "record")} read, ${written} written`;
}
