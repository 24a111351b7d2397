// The table of pausing.ts.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { pausedBy, pausedSentence } from "../../../../src/operator/act/pausing.ts";
import type { Pause } from "../../../../src/router/control/operator-actions.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 2, 1, 9);
const destination = "crm" as DestinationId;
const inForce = (untilMs: number | null): Pause => {
  return { destination, sinceMs: NOW_MS - HOUR_MS, by: "console", untilMs };
};

function asked(forHours: number | null, untilResumed = false) {
  const forMs = forHours === null ? null : forHours * HOUR_MS;
  const untilMs = forMs === null ? null : NOW_MS + forMs;
  const now: Pause = { destination, sinceMs: NOW_MS, by: "command", untilMs };
  return { asked: { forMs, untilResumed }, now };
}

const TWO = NOW_MS + 2 * HOUR_MS;

test.each<[string, Pause | null, ReturnType<typeof asked>, number | null, string]>([
  ["none, no end", null, asked(null), null, "Paused: crm until it is resumed. Run `"],
  ["none, for 2 h", null, asked(2), TWO, "Paused: crm until 2026-03-01 11:00:00 UTC. Run `"],
  [
    "until T, no end",
    ...([inForce(TWO), asked(null), TWO] as const),
    "Already paused: crm until 2026-03-01 11:00:00 UTC. It has been paused by console since 2026-03-01 08:00:00 UTC. Use --for to change the end, or --until-resumed to remove it. Run `",
  ],
  [
    "until T, for longer",
    ...([inForce(TWO), asked(5), NOW_MS + 5 * HOUR_MS] as const),
    "Paused: crm until 2026-03-01 14:00:00 UTC. Previously, it was paused by console until 2026-03-01 11:00:00 UTC. Run `",
  ],
  [
    "until T, for shorter",
    ...([inForce(TWO), asked(1), NOW_MS + HOUR_MS] as const),
    "Paused: crm until 2026-03-01 10:00:00 UTC. Previously, it was paused by console until",
  ],
  [
    "until T, until it is resumed",
    ...([inForce(TWO), asked(null, true), null] as const),
    "Paused: crm until it is resumed. Previously, it was paused by console until 2026-03-01 11:00:00 UTC. Run `",
  ],
  [
    "without an end, no end",
    ...([inForce(null), asked(null), null] as const),
    "Already paused: crm until it is resumed. It has been paused by console since 2026-03-01 08:00:00 UTC. Use --for to set an end. Run `",
  ],
  [
    "without an end, until it is resumed",
    ...([inForce(null), asked(null, true), null] as const),
    "Already paused: crm until it is resumed.",
  ],
  [
    "without an end, for 2 h",
    ...([inForce(null), asked(2), TWO] as const),
    "Paused: crm until 2026-03-01 11:00:00 UTC. Previously, it was paused by console until it is resumed. Run `",
  ],
])("in force: %s", (_, before, { asked: of, now }, untilMs, says) => {
  const paused = pausedBy(before, of, now);
  expect(paused.pause.untilMs).toBe(untilMs);
  expect(paused.pause.sinceMs).toBe(before?.sinceMs ?? NOW_MS);
  expect(pausedSentence(paused)).toContain(says);
  expect(pausedSentence(paused)).toContain("Run `switchyard resume crm` to end the pause.");
  // A pause that is already in force is not written again.
  expect(paused.pause === before).toBe(says.startsWith("Already paused"));
});
