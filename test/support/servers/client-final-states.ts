/**
 * What happens to a call if the ingest stage fails, for each client library with its default settings. An integration
 * test checks this, and `docs/ingest.md` has the table.
 */

import type { Failure } from "./failing-gate.ts";

/** `twice` means with the same message ID. */
export type FinalState = "delivered" | "twice" | "lost";

/** How the first requests fail, before the ingest stage responds normally. */
export const FAILURES = {
  "400": [400],
  "401": [401],
  "429": [429],
  "503": [503],
  "503 five times": [503, 503, 503, 503, 503],
  "connection dropped": ["drop"],
  "response dropped": ["drop-response"],
} as const satisfies Record<string, readonly Failure[]>;

type FinalStates = Readonly<Record<keyof typeof FAILURES, FinalState>>;

const retried: Omit<FinalStates, "503 five times"> = {
  "400": "lost",
  "401": "lost",
  "429": "delivered",
  "503": "delivered",
  "connection dropped": "delivered",
  "response dropped": "twice",
};

export const FINAL_STATES: Readonly<Record<string, FinalStates>> = {
  "@segment/analytics-node 2.3.0": { ...retried, "401": "delivered", "503 five times": "lost" },
  "@segment/analytics-node 3.1.0": { ...retried, "503 five times": "delivered" },
  "analytics-node 6.2.0": { ...retried, "503 five times": "lost" },
  "@rudderstack/rudder-sdk-node 3.0.13": { ...retried, "503 five times": "lost" },
  "segment-analytics-python 2.4.0": { ...retried, "503 five times": "delivered" },
  "analytics-python 1.4.post1": { ...retried, "503 five times": "delivered" },
  "rudder-sdk-python 2.1.9": { ...retried, "503 five times": "delivered" },
  "switchyard-sdk/client": { ...retried, "503 five times": "delivered" },
};

/** The table in `docs/ingest.md`. */
export function finalStateTable(): string {
  const names = Object.keys(FAILURES) as (keyof typeof FAILURES)[];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rows = Object.entries(FINAL_STATES).map(([library, finalStates]) =>
    line([`\`${library}\``, ...names.map((name) => finalStates[name])]),
  );
  return [line(["Library", ...names]), line(["---", ...names.map(() => "---")]), ...rows].join(
    "\n",
  );
}
