/** Filters and sorts the rows of the table of destinations. Pure. */

import type { DestinationRow } from "../view.ts";
import { acceptedShare, stateOf } from "./format.ts";

export const COLUMNS = [
  { name: "id", label: "Destination", isNumber: false, keyOf: (row) => row.destination },
  { name: "state", label: "State", isNumber: false, keyOf: (row) => row.severity },
  {
    name: "delivered",
    label: "Delivered / min",
    isNumber: true,
    keyOf: (row) => row.donePerMinute,
  },
  { name: "failed", label: "Failed / min", isNumber: true, keyOf: (row) => row.failedPerMinute },
  { name: "success", label: "Success rate", isNumber: true, keyOf: acceptedShare },
  { name: "p50", label: "p50", isNumber: true, keyOf: (row) => row.p50Ms },
  { name: "p99", label: "p99", isNumber: true, keyOf: (row) => row.p99Ms },
  { name: "queued", label: "Queued", isNumber: true, keyOf: (row) => row.waiting },
  { name: "retry", label: "Awaiting retry", isNumber: true, keyOf: (row) => row.awaitingRetry },
  { name: "oldest", label: "Oldest", isNumber: true, keyOf: (row) => row.oldestAt },
  { name: "last", label: "Last response", isNumber: false, keyOf: (row) => row.last?.at ?? null },
] as const satisfies readonly {
  readonly name: string;
  readonly label: string;
  readonly isNumber: boolean;
  /** By what rows are sorted; null if it is unknown. */
  readonly keyOf: (row: DestinationRow) => number | string | null;
}[];

export type ColumnName = (typeof COLUMNS)[number]["name"];

export interface Order {
  readonly column: ColumnName;
  readonly isDown: boolean;
}

/** The initial order: failing destinations first, then by ID. */
export const FIRST_ORDER: Order = { column: "state", isDown: false };

export function orderOf(text: string | null): Order {
  const [, minus, name] = /^(-?)(\w+)$/.exec(text ?? "") ?? [];
  const column = COLUMNS.find((each) => each.name === name)?.name;
  return column === undefined ? FIRST_ORDER : { column, isDown: minus === "-" };
}

export function orderText({ column, isDown }: Order): string {
  return `${isDown ? "-" : ""}${column}`;
}

/**
 * Returns the rows that match all words. A word matches if it occurs in the ID, the name, the state, or the last
 * response.
 */
export function search(rows: readonly DestinationRow[], wanted: string): readonly DestinationRow[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text =
      `${row.destination} ${row.name} ${stateOf(row).text} ${row.last?.cause ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Sorts rows. Those with an unknown value come last, in both directions. */
export function sorted(
  rows: readonly DestinationRow[],
  { column, isDown }: Order,
): readonly DestinationRow[] {
  const sign = isDown ? -1 : 1;
  const keyOf = COLUMNS.find(({ name }) => name === column)?.keyOf ?? (() => null);
  return rows.toSorted((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (a === null || b === null) return a === b ? byId(one, other) : a === null ? 1 : -1;
    if (a === b) return byId(one, other);
    return (a < b ? -1 : 1) * sign;
  });
}

function byId(one: DestinationRow, other: DestinationRow): number {
  return one.destination < other.destination ? -1 : 1;
}
