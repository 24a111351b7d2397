/**
 * Compares what two configurations do with the calls of a time range. It reads `calls` without a consumer group and
 * writes nothing, so it can be interrupted at any time. The memory that it needs does not depend on the number of
 * calls.
 */

import type { Config } from "../../config/config.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import { createRouting } from "../../router/route/routing.ts";
import type { CommandSchemas } from "../connect/command-schemas.ts";
import { configuredTopics } from "../connect/connection.ts";
import {
  type DestinationDifferences,
  type RoutedBy,
  RoutingComparison,
} from "./compare-routing.ts";
import { Scan } from "./scan.ts";

export interface ComparisonPorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly schemas: Pick<CommandSchemas, "of" | "given">;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** Called repeatedly with the number of records that were read since the last call. */
  readonly onRead: (records: number) => void;
}

export interface ComparisonQuery {
  /** The configuration whose Kafka cluster is read. */
  readonly current: Config;
  readonly before: Config;
  readonly after: Config;
  readonly sinceMs: number;
  /** The share of calls to compare, above 0 and at most 1. */
  readonly share: number;
}

export interface Comparison {
  /** The number of calls that were compared. */
  readonly calls: number;
  /** The number of calls whose schema the registry did not return. */
  readonly withoutSchema: number;
  readonly destinations: readonly DestinationDifferences[];
  /** Sentences about what could not be read. */
  readonly unread: readonly string[];
}

/** Returns null if the signal aborted. */
export async function readComparison(
  ports: ComparisonPorts,
  { current, before, after, sinceMs, share }: ComparisonQuery,
): Promise<Comparison | null> {
  const { schemas, nowMs, signal } = ports;
  const topics = configuredTopics(current);
  const comparison = new RoutingComparison(routedBy(before, topics), routedBy(after, topics));
  let withoutSchema = 0;
  const scan = new Scan(ports);
  await scan.know([topics.calls]);
  const take = (record: IncomingRecord): void | Promise<void> => {
    if (record.timestampMs < sinceMs || !isInShare(record, share)) return;
    if (schemas.of(record) === null) {
      comparison.add(record, nowMs());
      return;
    }
    return schemas.given(record).then((given) => {
      if (typeof given === "string") withoutSchema += 1;
      else comparison.add(given, nowMs());
    });
  };
  await scan.since([topics.calls], sinceMs, null, take);
  if (signal.aborted) return null;
  const destinations = comparison.result();
  return { calls: comparison.calls, withoutSchema, destinations, unread: scan.unread };
}

function routedBy(
  { sources, defaultSource, destinations }: Config,
  topics: ReturnType<typeof configuredTopics>,
): RoutedBy {
  return { routing: createRouting(sources, defaultSource, destinations, topics), destinations };
}

/** Decides whether a record is in the share. The same records are selected each time. */
function isInShare({ partition, offset }: IncomingRecord, share: number): boolean {
  if (share >= 1) return true;
  const mixed = Math.imul(Number(offset) + partition * 40_503, 2_654_435_761) >>> 0;
  return mixed / 2 ** 32 < share;
}
