/** Numbers, times and states as people read them. Pure: the time of now is an argument. */

import type { DeadLetterView } from "../query-view.ts";
import type { DestinationSeen } from "../view.ts";

const UNKNOWN = "–";

/** 1,234; 12.5K from ten thousand on; up to ten with a fraction. */
export function countText(count: number | null): string {
  if (count === null) return UNKNOWN;
  if (count !== 0 && count < 10 && !Number.isInteger(count)) return count.toFixed(1);
  const whole = Math.round(count);
  if (whole < 10_000) return whole.toLocaleString("en");
  return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(whole);
}

export function percentText(share: number | null): string {
  if (share === null) return UNKNOWN;
  // All but one of a thousand is not all.
  if (share > 0.999 && share < 1) return ">99.9 %";
  return `${(share * 100).toFixed(share === 1 || share === 0 ? 0 : 1)} %`;
}

export function millisecondsText(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** The two largest units: 2h 5m. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at] ?? ["s", 1];
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  const first = `${Math.floor(seconds / size)}${unit}`;
  return next === undefined || rest === 0 || at < 0 ? first : `${first} ${rest}${next[0]}`;
}

export function agoText(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  return ms < 1_000 ? "now" : `${durationText(ms)} ago`;
}

/** Of something to come, or that is late. */
export function dueText(at: string, nowMs: number): string {
  const ms = Date.parse(at) - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${durationText(ms)}` : `late by ${durationText(-ms)}`;
}

/** In the zone of the reader, with its date where that is not today. */
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

export interface StateWords {
  readonly tone: Tone;
  readonly word: string;
}

type Stated = Pick<DestinationSeen, "state" | "held" | "failingSince" | "kind" | "trouble">;

/** The state of a destination in one or two words. */
export function stateWords({ state, held, failingSince, kind, trouble }: Stated): StateWords {
  if (trouble === 0) return { tone: "bad", word: "halted" };
  if (held?.because === "paused" || held?.because === "disabled") {
    return { tone: "quiet", word: held.because };
  }
  if (held !== null)
    return { tone: "bad", word: failingSince === null ? "on hold" : "failing, on hold" };
  if (failingSince !== null) return { tone: "bad", word: "failing" };
  if (trouble === 2) return { tone: "warn", word: "in part" };
  if (state === "delivering") return { tone: "good", word: "delivering" };
  if (kind === "topic") return { tone: "quiet", word: "topic" };
  if (state === "not-owned") return { tone: "quiet", word: "elsewhere" };
  return { tone: "quiet", word: state === null ? "not known" : "not tried yet" };
}

/** Status codes as they are, causes in a few words. */
export function outcomeText({
  outcome,
  cause,
}: {
  readonly outcome: string;
  readonly cause: string;
}): string {
  const answer = /^\d{3}$/.test(cause) ? cause : cause.replaceAll("-", " ");
  return outcome === "accepted"
    ? answer
    : `${answer}, ${outcome === "retry" ? "tried again" : outcome}`;
}

/** The titles of the reasons of dead letters. */
export function reasonText(reason: DeadLetterView["reason"]): string {
  return reason === "" ? "(no reason)" : reason.replaceAll("-", " ");
}
