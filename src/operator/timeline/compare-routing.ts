/**
 * Finds out what a proposed configuration would change for given calls. Each call is routed by the current and by the
 * proposed configuration, with the functions of the route stage, and the resulting records are compared
 * (docs/rules.md#what-a-change-would-do).
 *
 *   the destination's record, by the                 difference
 *   current configuration    proposed one
 *   none                     one                     gained
 *   one                      none                    lost, with the reason
 *   one                      the same bytes          none
 *   one                      another one             changed, with the properties that differ
 *
 * If a call is invalid for one of the configurations, it has no records in that configuration, and the reason is
 * that of its dead letter. Only paths and message IDs are kept, never values.
 */

import type { Call } from "../../domain/call.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { Destination } from "../../domain/destination.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { isEqual, isJsonObject } from "../../domain/json.ts";
import {
  allHeaders,
  type IncomingRecord,
  type OutgoingRecord,
  type RecordHeaders,
} from "../../domain/record.ts";
import {
  explained,
  type Refusal,
  type RoutedCall,
  readCall,
  routeCall,
  type TypedValue,
  typedValue,
} from "../../router/route/route-record.ts";
import type { Routing } from "../../router/route/routing.ts";

const EXAMPLES_MAX = 5;
/** Maximum number of paths that are counted for a destination. There is a limit because calls can contain any names. */
const PATHS_MAX = 1_000;

/** The number of calls with a difference, and the message IDs of some of them. */
export interface Counted {
  readonly count: number;
  readonly examples: readonly string[];
}

export interface DestinationDifferences {
  readonly destination: string;
  readonly gained: Counted;
  readonly lost: readonly (Counted & { readonly reason: string })[];
  readonly changed: Counted & {
    /**
     * For each property, by its path, the number of calls that differ in this property. `(key)` and `(headers)` are
     * the record's key and headers. `(others)` counts all paths after the first thousand.
     */
    readonly properties: Readonly<Record<string, number>>;
  };
}

/** A configuration, prepared for the route stage. */
export interface RoutedBy {
  readonly routing: Routing;
  readonly destinations: readonly Destination[];
}

class Count {
  count = 0;
  readonly examples: string[] = [];

  add(messageId: string): void {
    this.count += 1;
    if (this.examples.length < EXAMPLES_MAX) this.examples.push(messageId);
  }

  get counted(): Counted {
    return { count: this.count, examples: this.examples };
  }
}

class Differences {
  readonly gained = new Count();
  readonly lost = new Map<string, Count>();
  readonly changed = new Count();
  readonly properties = new Map<string, number>();
}

/** Collects the differences of calls. */
export class RoutingComparison {
  readonly #before: RoutedBy;
  readonly #after: RoutedBy;
  readonly #found = new Map<string, Differences>();
  /** The number of calls that were compared. */
  calls = 0;

  constructor(before: RoutedBy, after: RoutedBy) {
    this.#before = before;
    this.#after = after;
  }

  /** @param nowMs used if the record has no valid time. */
  add(record: IncomingRecord, nowMs: number): void {
    this.calls += 1;
    const value = typedValue(record);
    const before = routed(record, this.#before, nowMs, value);
    const after = routed(record, this.#after, nowMs, value);
    const rest = new Map(recordsOf(after));
    for (const [destination, one] of recordsOf(before)) {
      const other = rest.get(destination);
      rest.delete(destination);
      if (other === undefined) this.#lost(destination, one, after);
      else this.#compare(destination, one, other, changedOnce(destination, before, after));
    }
    for (const [destination, other] of rest) {
      this.#of(destination).gained.add(messageIdOf(other));
    }
  }

  /**
   * The destinations with differences: first those in the proposed configuration, in its order, then those that it
   * removes.
   */
  result(): readonly DestinationDifferences[] {
    const ids = [...this.#after.destinations, ...this.#before.destinations].map(({ id }) => id);
    return [...new Set<string>(ids)].flatMap((destination) => {
      const found = this.#found.get(destination);
      if (found === undefined) return [];
      const { gained, lost, changed, properties } = found;
      return {
        destination,
        gained: gained.counted,
        lost: [...lost].map(([reason, { counted }]) => ({ reason, ...counted })),
        changed: { ...changed.counted, properties: Object.fromEntries(properties) },
      };
    });
  }

  #lost(destination: string, record: OutgoingRecord, after: RoutedRead): void {
    const reason = this.#reasonOf(destination, after);
    const { lost } = this.#of(destination);
    const count = lost.get(reason) ?? new Count();
    lost.set(reason, count);
    count.add(messageIdOf(record));
  }

  #reasonOf(destination: string, after: RoutedRead): string {
    if (after.kind === "refused") return after.reason;
    const known = this.#after.destinations.filter(({ id }) => id === destination);
    return explained(after.call, after.routed, known)[0]?.reason ?? "not-configured";
  }

  #compare(
    destination: string,
    one: OutgoingRecord,
    other: OutgoingRecord,
    changed: readonly string[] | null,
  ): void {
    const paths = differingPaths(one, other, changed);
    if (paths.length === 0) return;
    const { changed: count, properties } = this.#of(destination);
    count.add(messageIdOf(one));
    for (const path of paths) {
      const known = properties.has(path) || properties.size < PATHS_MAX ? path : "(others)";
      properties.set(known, (properties.get(known) ?? 0) + 1);
    }
  }

  #of(destination: string): Differences {
    const known = this.#found.get(destination);
    if (known !== undefined) return known;
    const made = new Differences();
    this.#found.set(destination, made);
    return made;
  }
}

type RoutedRead =
  | { readonly kind: "routed"; readonly call: Call; readonly routed: RoutedCall }
  | Refusal;

function routed(
  record: IncomingRecord,
  { routing }: RoutedBy,
  nowMs: number,
  value: TypedValue | Refusal,
): RoutedRead {
  const read = readCall(record, routing.lookup, nowMs, value);
  if (read.kind === "refused") return read;
  return { kind: "routed", call: read.call, routed: routeCall(record, read, routing) };
}

function recordsOf(read: RoutedRead): readonly (readonly [DestinationId, OutgoingRecord])[] {
  if (read.kind === "refused") return [];
  const { records, routes } = read.routed;
  return records.flatMap((record, index) => {
    const route = routes[index];
    return route === undefined ? [] : [[route.destination, record] as const];
  });
}

/** If the rules of only one configuration changed the call, returns the changed properties. Otherwise, returns null. */
function changedOnce(
  destination: DestinationId,
  before: RoutedRead,
  after: RoutedRead,
): readonly string[] | null {
  const changed = [before, after].flatMap((read) => {
    if (read.kind === "refused") return [];
    const found = read.routed.ruled?.changed.get(destination);
    return found === undefined ? [] : [found];
  });
  return changed.length === 1 ? (changed[0] ?? null) : null;
}

/**
 * The paths at which two records differ; empty if the records have the same bytes.
 *
 * @param known the paths that differ in the value, if known; null to find them here.
 */
function differingPaths(
  one: OutgoingRecord,
  other: OutgoingRecord,
  known: readonly string[] | null,
): readonly string[] {
  const found: string[] = [];
  if (!isSame(one.key, other.key)) found.push("(key)");
  if (!areSame(allHeaders(one), allHeaders(other))) found.push("(headers)");
  if (isSame(one.value, other.value)) return found;
  const paths = known ?? jsonPaths(parsed(one.value), parsed(other.value));
  // If no path differs, the bytes differ only in spelling, for example in how a name is escaped.
  return [...found, ...(paths.length === 0 ? ["(spelling)"] : paths)];
}

function parsed(value: OutgoingRecord["value"]): unknown {
  return value === null ? null : JSON.parse(Buffer.from(value).toString());
}

/** The paths at which two values differ. Values may be nested to any depth, because the function does not recurse. */
function jsonPaths(one: unknown, other: unknown): readonly string[] {
  const found: string[] = [];
  const left: (readonly [unknown, unknown, string])[] = [[one, other, ""]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [a, b, path] = next;
    if (!isJsonObject(a) || !isJsonObject(b)) {
      if (!isEqual(a, b)) found.push(path);
      continue;
    }
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const below = path === "" ? name : `${path}.${name}`;
      if (Object.hasOwn(a, name) && Object.hasOwn(b, name)) left.push([a[name], b[name], below]);
      else found.push(below);
    }
  }
  return found;
}

function areSame(one: RecordHeaders, other: RecordHeaders): boolean {
  return (
    one.length === other.length &&
    one.every(([name, value], index) => {
      const [otherName, otherValue] = other[index] ?? ["", null];
      return name === otherName && isSame(value, otherValue);
    })
  );
}

function isSame(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return Buffer.compare(one, other) === 0;
}

function messageIdOf(record: OutgoingRecord): string {
  const header = allHeaders(record).find(([name]) => name === DELIVERY_HEADER.messageId);
  return Buffer.from(header?.[1] ?? "").toString();
}
