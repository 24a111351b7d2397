/** The work of `bench route`: calls of 1 KB, and which of five destinations each one goes to. */

import type { TopicDestination } from "../src/domain/destination.ts";
import type { DestinationId } from "../src/domain/ids.ts";

export const DESTINATIONS = 5;
const CALL_BYTES = 1_024;

/** Each destination's integration name: `D1` to `D5`. */
function destinationName(index: number): string {
  return `D${index + 1}`;
}

/** All five, as the route stage has them in its configuration. */
export function benchTopicDestinations(): readonly TopicDestination[] {
  return Array.from({ length: DESTINATIONS }, (_, index) => ({
    kind: "topic",
    id: `d${index + 1}` as DestinationId,
    name: destinationName(index),
    enabled: true,
    historical: true,
    partitions: null,
  }));
}

interface BenchCall {
  readonly messageId: string;
  readonly integrations?: Readonly<Record<string, boolean>>;
}

/**
 * @param spread `all`: every call goes to all five; `two`: each call names its destinations, two
 *   on average (one to three).
 */
export function benchCall(number: number, spread: "all" | "two"): { key: string; value: string } {
  const userId = `user-${(number * 7_919) % 50_000}`;
  const properties = {
    orderId: `o-${number}`,
    total: (number % 997) / 10,
    currency: "EUR",
    note: "",
  };
  const call = {
    type: "track",
    messageId: `bench-${number}`,
    userId,
    event: "Order Completed",
    timestamp: "2026-11-20T10:00:00.000Z",
    properties,
    context: { library: { name: "bench", version: "1" }, ip: "192.0.2.1" },
    ...(spread === "two" ? { integrations: named(number) } : {}),
  };
  properties.note = "x".repeat(Math.max(0, CALL_BYTES - JSON.stringify(call).length));
  return { key: userId, value: JSON.stringify(call) };
}

function named(number: number): Record<string, boolean> {
  const integrations: Record<string, boolean> = { All: false };
  const count = 1 + (number % 3);
  for (let step = 0; step < count; step += 1) {
    integrations[destinationName((number + step * 2) % DESTINATIONS)] = true;
  }
  return integrations;
}

/** Whether a call of this bench goes to a destination: the yardstick's whole "routing". */
export function wants({ integrations }: BenchCall, destination: number): boolean {
  return integrations === undefined || integrations[destinationName(destination)] === true;
}
