/** Why a destination is on hold, as `status` and the console show it. */

import type { HoldReason } from "../domain/destination-status.ts";

export const HOLD_TEXTS: Readonly<Record<HoldReason, string>> = {
  "circuit-open": "circuit open",
  "retry-after": "Retry-After",
  token: "no token",
  paused: "paused",
  disabled: "disabled",
};
