/**
 * Creates the status of a destination for operators (`domain/destination-status.ts`), and the sentences about
 * the destination in `/readyz`.
 */

import type { AttemptedDestination } from "../../domain/destination.ts";
import type {
  AttemptCounts,
  BlockedUsers,
  DestinationStateName,
  DestinationStatus,
  EndpointHold,
  EndpointStatus,
  LastOutcome,
} from "../../domain/destination-status.ts";
import { endpointNames, nameOf } from "../../domain/endpoint-name.ts";
import { type DestinationHealth, lastOutcome } from "./destination-health.ts";
import type { GateState } from "./endpoint-availability.ts";
import type { DestinationHold } from "./endpoint-gate.ts";
import type { HoldCause } from "./hold-cause.ts";
import type { RecentAttempts } from "./recent-attempts.ts";

/**
 * @param gates the gates of the destination's endpoints; gates of endpoints that are not configured are ignored.
 * @param order null if the destination has no order.
 */
export function statusOf(
  condition: DestinationHealth,
  lineHold: DestinationHold | null,
  gates: readonly GateState[],
  nowMs: number,
  order: BlockedUsers | null = null,
): DestinationStatus {
  const { destination, acceptedAtMs, partitions } = condition;
  const failingSinceMs = condition.failingSinceMs(nowMs);
  const hold = holdThatCounts(lineHold, partitions);
  const names = endpointNames(destination);
  const endpoints = destination.endpoints.map(({ key, url }): EndpointStatus => {
    const gate = gates.find((each) => each.key === key);
    const memory = condition.endpoint(key);
    return {
      name: nameOf(key, names).name,
      id: nameOf(key, names).id,
      origin: new URL(url).origin,
      circuit: gate?.breaker ?? "closed",
      failingSince: instant(memory?.recent.failingSinceMs(nowMs)),
      lastMinute: countsOf(memory?.recent, nowMs),
      unavailable: gate?.unavailable ? endpointHold(gate.unavailable) : null,
      last: memory === null ? null : lastOutcome(memory),
    };
  });
  return {
    id: destination.id,
    state: stateOf({ hold, failingSinceMs, endpoints, partitions }),
    failingSince: instant(failingSinceMs),
    lastMinute: countsOf(condition.recent(nowMs), nowMs),
    hold: hold && {
      ...endpointHold(hold),
      ...(hold.by === undefined ? {} : { by: hold.by }),
      ...(hold.error == null ? {} : { error: hold.error }),
    },
    lastAcceptedAt: instant(acceptedAtMs),
    last: latest(endpoints, destination.deliver),
    partitions,
    ...(order === null ? {} : { order }),
    endpoints,
  };
}

/**
 * A hold does not count in a process that owns no partitions of the destination, unless all processes agree on it.
 */
function holdThatCounts(hold: DestinationHold | null, partitions: number): DestinationHold | null {
  const reason = hold?.reason;
  const isShared = reason === "paused" || reason === "disabled" || reason === "gone";
  return isShared || partitions > 0 ? hold : null;
}

function stateOf({
  hold,
  failingSinceMs,
  endpoints,
  partitions,
}: {
  readonly hold: DestinationHold | null;
  readonly failingSinceMs: number | null;
  readonly endpoints: readonly EndpointStatus[];
  readonly partitions: number;
}): DestinationStateName {
  if (hold !== null) return "on-hold";
  if (partitions === 0) return "not-owned";
  if (failingSinceMs !== null) return "failing";
  return endpoints.some(({ last }) => last !== null) ? "delivering" : "idle";
}

function endpointHold({ reason, sinceMs, untilMs }: DestinationHold): EndpointHold {
  return { reason, since: new Date(sinceMs).toISOString(), until: instant(untilMs) };
}

/** The latest result. If the latest attempt sent requests to several endpoints, this is the result that decided its outcome. */
function latest(
  endpoints: readonly EndpointStatus[],
  deliver: AttemptedDestination["deliver"],
): DestinationStatus["last"] {
  const decides = ({ outcome }: LastOutcome) => (outcome === "accepted") === (deliver === "any");
  let found: DestinationStatus["last"] = null;
  for (const { name, last } of endpoints) {
    if (last === null) continue;
    const isLater = found === null || last.at > found.at;
    const isMore = last.at === found?.at && decides(last) && !decides(found);
    if (isLater || isMore) found = { ...last, endpoint: name };
  }
  return found;
}

function countsOf(recent: RecentAttempts | null | undefined, nowMs: number): AttemptCounts {
  return { attempts: recent?.attempts(nowMs) ?? 0, failures: recent?.failures(nowMs) ?? 0 };
}

function instant(atMs: number | null | undefined): string | null {
  return atMs === null || atMs === undefined ? null : new Date(atMs).toISOString();
}

export function healthProblemsOf(
  { destination, still }: Pick<DestinationHealth, "destination" | "still">,
  endpoints: readonly GateState[],
  hold: DestinationHold | null,
): readonly string[] {
  const names = endpointNames(destination);
  const open = endpoints
    .filter(({ breaker }) => breaker === "open" || breaker === "half-open")
    .map(({ key, breaker }) => {
      return `endpoint ${nameOf(key, names).name} keeps failing; its circuit breaker is ${breaker}`;
    });
  const paused = still === null ? [] : stillText(still);
  const gone = endpoints.flatMap(({ key, unavailable }) => {
    if (unavailable?.reason !== "gone") return [];
    const since = new Date(unavailable.sinceMs).toISOString();
    return `endpoint ${nameOf(key, names).name} responded 410 at ${since}, and gets no more requests`;
  });
  return [...paused, ...errorText(hold), ...open, ...gone];
}

function errorText(hold: DestinationHold | null): readonly string[] {
  if (hold?.error == null) return [];
  const why = hold.reason === "token" ? " without a token" : "";
  return [`on hold${why} since ${new Date(hold.sinceMs).toISOString()}: ${hold.error}`];
}

function stillText({ by, sinceMs, untilMs }: HoldCause): readonly string[] {
  if (by === undefined) return [];
  const until = untilMs === null ? "" : `, until ${new Date(untilMs).toISOString()}`;
  return [`paused by ${by} since ${new Date(sinceMs).toISOString()}${until}`];
}
