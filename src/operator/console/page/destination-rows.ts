/** Filters and sorts the rows of the table of destinations. Pure. */

import type { DestinationRow } from "../view.ts";
import { acceptedShare, stateOf } from "./format.ts";

export const COLUMNS = [
  { name: "id", label: "Destination", isNumber: false },
  { name: "state", label: "State", isNumber: false },
  { name: "delivered", label: "Delivered / min", isNumber: true },
  { name: "failed", label: "Failed / min", isNumber: true },
  { name: "success", label: "Success rate", isNumber: true },
  { name: "p50", label: "p50", isNumber: true },
  { name: "p99", label: "p99", isNumber: true },
  { name: "queued", label: "Queued", isNumber: true },
  { name: "retry", label: "Awaiting retry", isNumber: true },
  { name: "oldest", label: "Oldest", isNumber: true },
  { name: "last", label: "Last response", isNumber: false },
] as const;

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
  return rows.toSorted((one, other) => {
    const [a, b] = [keyOf(one, column), keyOf(other, column)];
    if (a === null || b === null) return a === b ? byId(one, other) : a === null ? 1 : -1;
    if (a === b) return byId(one, other);
    return (a < b ? -1 : 1) * sign;
  });
}

function byId(one: DestinationRow, other: DestinationRow): number {
  return one.destination < other.destination ? -1 : 1;
}

function keyOf(row: DestinationRow, column: ColumnName): number | string | null {
  switch (column) {
    case "id":
      return row.destination;
    case "state":
      return row.severity;
    case "delivered":
      return row.donePerMinute;
    case "failed":
      return row.failedPerMinute;
    case "success":
      return acceptedShare(row);
    case "p50":
      return row.p50Ms;
    case "p99":
      return row.p99Ms;
    case "queued":
      return row.waiting;
    case "retry":
      return row.awaitingRetry;
    case "oldest":
      return row.oldestAt;
    case "last":
      return row.last?.at ?? null;
  }
}
