/**
 * Reads the response of a process to `GET /status?metrics`. The process may run another version, so fields that are
 * missing or have another type count as unknown.
 */

import {
  type AttemptCounts,
  type BlockedUsers,
  CIRCUIT_STATES,
  DESTINATION_STATES,
  type DestinationStatus,
  type EndpointHold,
  type EndpointStatus,
  HOLD_REASONS,
  type LastOutcome,
} from "../../domain/destination-status.ts";
import type { DestinationId } from "../../domain/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonObjectIn,
  numberOf,
  objectsOf,
  oneOf,
  textOf,
} from "../../domain/json.ts";
import type {
  MeasuredStatus,
  MetricValue,
  MetricValues,
  UnreachableBroker,
} from "../../domain/process-status.ts";
import { STAGE_NAMES } from "../../domain/stages.ts";

const OUTCOMES = ["accepted", "retry", "rejected"] as const;

/** Null if the response is not a status. */
export function readStatus(text: string): MeasuredStatus | null {
  const found = jsonObjectIn(text) ?? {};
  const { version, configuration } = found;
  if (typeof version !== "string") return null;
  const { hash, appliedAt } = fields(configuration);
  return {
    version,
    node: textOf(found.node) ?? "",
    startedAt: instant(found.startedAt) ?? "",
    stages: objectsOf(found.stages).flatMap((stage) => {
      const name = oneOf(STAGE_NAMES, stage.name);
      return name === null ? [] : [{ name, partitions: partitions(stage.partitions) }];
    }),
    configuration: { hash: textOf(hash) ?? "", appliedAt: instant(appliedAt) },
    unreachableBrokers: objectsOf(found.unreachableBrokers).map(
      ({ broker, since, error }): UnreachableBroker => ({
        broker: textOf(broker) ?? "",
        since: instant(since) ?? "",
        error: textOf(error) ?? "",
      }),
    ),
    destinations: objectsOf(found.destinations).flatMap((each) => destination(each) ?? []),
    metrics: metrics(found.metrics),
    earlier: earlier(fields(found.earlier)),
  };
}

function earlier(found: JsonObject): MeasuredStatus["earlier"] {
  const agoMs = numberOf(found.agoMs);
  return agoMs === null ? null : { agoMs, metrics: metrics(found.metrics) };
}

function metrics(value: unknown): MetricValues {
  return Object.fromEntries(
    Object.entries(fields(value)).map(([name, all]) => [
      name,
      objectsOf(all).map(
        ({ labels, value: count, buckets }): MetricValue => ({
          labels: Object.fromEntries(
            Object.entries(fields(labels)).map(([label, each]) => [label, textOf(each) ?? ""]),
          ),
          value: numberOf(count) ?? 0,
          ...(buckets === undefined ? {} : { buckets: numbers(buckets) }),
        }),
      ),
    ]),
  );
}

function destination(found: JsonObject): DestinationStatus | null {
  const id = textOf(found.id);
  const state = oneOf(DESTINATION_STATES, found.state);
  if (id === null || state === null) return null;
  const last = lastOutcome(found.last);
  const { by, error } = fields(found.hold);
  const known = endpointHold(found.hold);
  const pausedBy = textOf(by);
  const why = textOf(error);
  return {
    id: id as DestinationId,
    state,
    failingSince: instant(found.failingSince),
    lastMinute: attemptCounts(found.lastMinute),
    hold: known && {
      ...known,
      ...(pausedBy === null ? {} : { by: pausedBy }),
      ...(why === null ? {} : { error: why }),
    },
    lastAcceptedAt: instant(found.lastAcceptedAt),
    last: last && { ...last, endpoint: textOf(fields(found.last).endpoint) ?? "" },
    partitions: numberOf(found.partitions) ?? 0,
    ...(isJsonObject(found.order) ? { order: blockedUsers(found.order) } : {}),
    endpoints: objectsOf(found.endpoints).flatMap((each) => endpoint(each) ?? []),
  };
}

function blockedUsers(found: JsonObject): BlockedUsers {
  const { blockedUsers: users, waitingDeliveries } = found;
  return {
    blockedUsers: numberOf(users) ?? 0,
    waitingDeliveries: numberOf(waitingDeliveries) ?? 0,
  };
}

function endpoint(found: JsonObject): EndpointStatus | null {
  const [name, id] = [textOf(found.name), textOf(found.id)];
  if (name === null || id === null) return null;
  return {
    name,
    id,
    origin: textOf(found.origin) ?? "",
    circuit: oneOf(CIRCUIT_STATES, found.circuit) ?? "closed",
    failingSince: instant(found.failingSince),
    lastMinute: attemptCounts(found.lastMinute),
    unavailable: endpointHold(found.unavailable),
    last: lastOutcome(found.last),
  };
}

function endpointHold(value: unknown): EndpointHold | null {
  const { reason, since, until } = fields(value);
  const known = oneOf(HOLD_REASONS, reason);
  return known && { reason: known, since: instant(since) ?? "", until: instant(until) };
}

function attemptCounts(value: unknown): AttemptCounts {
  const { attempts, failures } = fields(value);
  return { attempts: numberOf(attempts) ?? 0, failures: numberOf(failures) ?? 0 };
}

function lastOutcome(value: unknown): LastOutcome | null {
  const found = fields(value);
  const [at, outcome] = [instant(found.at), oneOf(OUTCOMES, found.outcome)];
  if (at === null || outcome === null) return null;
  return { at, outcome, cause: textOf(found.cause) ?? "" };
}

function partitions(value: unknown): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(
    Object.entries(fields(value)).map(([topic, all]) => [topic, numbers(all)]),
  );
}

function fields(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function numbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "number") : [];
}

function instant(value: unknown): string | null {
  const text = textOf(value);
  return text === null || Number.isNaN(Date.parse(text)) ? null : text;
}
