/**
 * Reads the response of a process to `GET /status?metrics`. The process may run another version: what is missing or has another
 * type counts as unknown.
 */

import {
  type AttemptCounts,
  CIRCUIT_STATES,
  DESTINATION_STATES,
  type DestinationStatus,
  type EndpointStatus,
  HOLD_REASONS,
  type LastOutcome,
} from "../../domain/destination-status.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type {
  MeasuredStatus,
  MetricValue,
  MetricValues,
  UnreachableBroker,
} from "../../domain/process-status.ts";
import { STAGE_NAMES } from "../../domain/stages.ts";

const OUTCOMES = ["accepted", "retry", "rejected"] as const;

/** Null: the response is not a status. */
export function readStatus(text: string): MeasuredStatus | null {
  const found = fields(parsed(text));
  const { version, configuration } = found;
  if (typeof version !== "string") return null;
  const { hash, appliedAt } = fields(configuration);
  return {
    version,
    node: textOf(found.node) ?? "",
    startedAt: instant(found.startedAt) ?? "",
    stages: list(found.stages).flatMap((stage) => {
      const name = oneOf(STAGE_NAMES, stage.name);
      return name === null ? [] : [{ name, partitions: partitions(stage.partitions) }];
    }),
    configuration: { hash: textOf(hash) ?? "", appliedAt: instant(appliedAt) },
    unreachableBrokers: list(found.unreachableBrokers).map(
      ({ broker, since, error }): UnreachableBroker => ({
        broker: textOf(broker) ?? "",
        since: instant(since) ?? "",
        error: textOf(error) ?? "",
      }),
    ),
    destinations: list(found.destinations).flatMap((each) => destination(each) ?? []),
    metrics: metrics(found.metrics),
  };
}

function metrics(value: unknown): MetricValues {
  return Object.fromEntries(
    Object.entries(fields(value)).map(([name, all]) => [
      name,
      list(all).map(
        ({ labels, value: count, buckets }): MetricValue => ({
          labels: Object.fromEntries(
            Object.entries(fields(labels)).map(([label, each]) => [label, textOf(each) ?? ""]),
          ),
          value: countOf(count),
          ...(buckets === undefined ? {} : { buckets: numbers(buckets) }),
        }),
      ),
    ]),
  );
}

type Fields = Readonly<Record<string, unknown>>;

function destination(found: Fields): DestinationStatus | null {
  const id = textOf(found.id);
  const state = oneOf(DESTINATION_STATES, found.state);
  if (id === null || state === null) return null;
  const last = lastOutcome(found.last);
  const { reason, since, until, by, error } = fields(found.hold);
  const known = oneOf(HOLD_REASONS, reason);
  const pausedBy = textOf(by);
  const why = textOf(error);
  return {
    id: id as DestinationId,
    state,
    failingSince: instant(found.failingSince),
    lastMinute: attemptCounts(found.lastMinute),
    hold: known && {
      reason: known,
      since: instant(since) ?? "",
      until: instant(until),
      ...(pausedBy === null ? {} : { by: pausedBy }),
      ...(why === null ? {} : { error: why }),
    },
    lastAcceptedAt: instant(found.lastAcceptedAt),
    last: last && { ...last, endpoint: textOf(fields(found.last).endpoint) ?? "" },
    partitions: countOf(found.partitions),
    endpoints: list(found.endpoints).flatMap((each) => endpoint(each) ?? []),
  };
}

function endpoint(found: Fields): EndpointStatus | null {
  const [name, key] = [textOf(found.name), textOf(found.key)];
  if (name === null || key === null) return null;
  return {
    name,
    key: key as EndpointKey,
    origin: textOf(found.origin) ?? "",
    breaker: oneOf(CIRCUIT_STATES, found.breaker) ?? "closed",
    failingSince: instant(found.failingSince),
    lastMinute: attemptCounts(found.lastMinute),
    unavailableUntil: instant(found.unavailableUntil),
    last: lastOutcome(found.last),
  };
}

function attemptCounts(value: unknown): AttemptCounts {
  const { attempts, failures } = fields(value);
  return { attempts: countOf(attempts), failures: countOf(failures) };
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

function numbers(value: unknown): readonly number[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "number") : [];
}

function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function instant(value: unknown): string | null {
  const text = textOf(value);
  return text === null || Number.isNaN(Date.parse(text)) ? null : text;
}

function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name | null {
  return names.find((name) => name === value) ?? null;
}
