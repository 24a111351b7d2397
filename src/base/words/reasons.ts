/**
 * The words that `status` and the console use for the reasons why a destination is on hold, and why it does not get
 * certain calls.
 */

import type { BlockedUsers, HoldReason } from "../../domain/destination-status.ts";
import { counted } from "./count.ts";

export const HOLD_TEXTS: Readonly<Record<HoldReason, string>> = {
  "circuit-open": "circuit open",
  "retry-after": "Retry-After",
  token: "no token",
  proxy: "proxy unavailable",
  gone: "410 Gone",
  order: "too many blocked users",
  paused: "paused",
  disabled: "disabled",
};

export function blockedText({ blockedUsers, waitingDeliveries }: BlockedUsers): string {
  const users = `${counted(blockedUsers, "user")} blocked`;
  return `${users}, ${counted(waitingDeliveries, "delivery", "deliveries")} waiting`;
}

/**
 * The reasons why calls are skipped for a destination, as in the metric `switchyard_route_calls_skipped_total`, with
 * the words that `status` and the console show. The route stage checks the reasons in this order (docs/rules.md#order),
 * after it has checked that the user is not suppressed.
 */
export const SKIP_REASONS = [
  "not-connected",
  "disabled",
  "no-consent",
  "named-false",
  "all-false",
  "sampled-out",
  "filtered",
  "suppressed",
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export const SKIP_TEXTS: Readonly<Record<SkipReason, string>> = {
  suppressed: "the call's user is suppressed",
  "not-connected": "the source is not connected to it",
  disabled: "it is disabled",
  "no-consent": "the call does not grant the consent that the destination requires",
  "named-false": "integrations exclude it by name",
  "all-false": "integrations exclude All and do not name it",
  "sampled-out": "the call is not in the sample that a filter keeps",
  filtered: "a filter drops the call",
};

export function isSkipReason(text: string): text is SkipReason {
  return (SKIP_REASONS as readonly string[]).includes(text);
}
