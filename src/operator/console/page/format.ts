/** Formats numbers, times and states as text. Pure: the current time is an argument. */

import { ageText } from "../../../base/words/count.ts";
import type { DeadLetterView } from "../query-view.ts";
import type { DestinationRow, StateCounts } from "../view.ts";

const UNKNOWN = "–";

/** Formats a number, such as `1,234`, or `12.5K` for ten thousand and above. Numbers below ten may have a fraction. */
export function countText(count: number | null): string {
  if (count === null) return UNKNOWN;
  if (count !== 0 && count < 10 && !Number.isInteger(count)) return count.toFixed(1);
  const whole = Math.round(count);
  if (whole < 10_000) return whole.toLocaleString("en");
  return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(whole);
}

/** The share of attempts that were accepted; null if there were none. */
export function acceptedShare({ failedShare }: Pick<DestinationRow, "failedShare">): number | null {
  return failedShare === null ? null : 1 - failedShare;
}

export function percentText(share: number | null): string {
  if (share === null) return UNKNOWN;
  // For example, 999 of 1,000 must not be shown as 100 %.
  if (share > 0.999 && share < 1) return ">99.9 %";
  return `${(share * 100).toFixed(share === 1 || share === 0 ? 0 : 1)} %`;
}

export function millisecondsText(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Formats a duration in its two largest units, such as `2h 5m`. */
export function durationText(ms: number): string {
  return ageText(Math.round(ms / 1_000) * 1_000);
}

export function agoText(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  return ms < 1_000 ? "now" : `${durationText(ms)} ago`;
}

/** Formats when something is due, or by how much it is overdue. */
export function dueText(at: string, nowMs: number): string {
  const ms = Date.parse(at) - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${durationText(ms)}` : `overdue by ${durationText(-ms)}`;
}

/** The instant that lies this long after another one, or before it if the time is negative. */
export function instantAfter(at: string, ms: number): string {
  return new Date(Date.parse(at) + ms).toISOString();
}

/** Formats a time in the user's time zone. The date is included unless it is today. */
export function localTime(at: string, nowMs: number): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString("en-GB", { hour12: false });
  const isToday = date.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

export function utcTime(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export type Tone = "good" | "bad" | "warn" | "quiet";

export interface StateText {
  readonly tone: Tone;
  readonly text: string;
}

/** The state of a destination in one or two words. */
export function stateOf({
  state,
  hold,
  failingSince,
  kind,
  isAttempted,
  severity,
  last,
}: DestinationRow): StateText {
  if (severity === 0) return { tone: "bad", text: "Halted" };
  if (hold?.reason === "paused") return { tone: "quiet", text: "Paused" };
  if (hold?.reason === "disabled") return { tone: "quiet", text: "Disabled" };
  if (hold !== null) {
    return { tone: "bad", text: failingSince === null ? "On hold" : "Failing, on hold" };
  }
  if (failingSince !== null) return { tone: "bad", text: "Failing" };
  if (severity === 2) return { tone: "warn", text: "Partly failing" };
  if (state === "delivering") {
    if (last === null || last.outcome === "accepted") return { tone: "good", text: "Delivering" };
    const what = last.outcome === "rejected" ? "rejected" : "failed";
    return { tone: "warn", text: `Last attempt ${what}` };
  }
  if (isAttempted === false) {
    return { tone: "quiet", text: `${kind[0]?.toUpperCase()}${kind.slice(1)}` };
  }
  if (state === "not-owned") return { tone: "quiet", text: "On other processes" };
  return { tone: "quiet", text: state === null ? "Unknown" : "Idle" };
}

/**
 * The tone of what was delivered. Nothing is good while Kafka is unreachable, or if no process reports that it delivers.
 */
export function deliveredTone(
  states: Pick<StateCounts, "failing" | "on-hold" | "delivering">,
  kafkaError: string | null,
): Tone {
  if (states.failing + states["on-hold"] > 0) return "bad";
  return kafkaError === null && states.delivering > 0 ? "good" : "quiet";
}

/** Formats an outcome: a status code unchanged, and a cause in words. */
export function outcomeText({
  outcome,
  cause,
}: {
  readonly outcome: string;
  readonly cause: string;
}): string {
  const response = /^\d{3}$/.test(cause) ? cause : cause.replaceAll("-", " ");
  if (outcome === "accepted") return response;
  return `${response}, ${outcome === "retry" ? "will be retried" : outcome}`;
}

/** Formats the reason of a dead letter as a title. */
export function reasonText(reason: DeadLetterView["reason"]): string {
  return reason === "" ? "(no reason)" : reason.replaceAll("-", " ");
}
