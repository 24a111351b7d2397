/** A table of few rows, each column said once: its head, and what it shows of a row. */

import type { ComponentChildren } from "preact";

import { Scroll } from "./parts.tsx";

export interface Column<Row> {
  readonly label: string;
  readonly isNumber?: boolean;
  readonly of: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  /** The name of the table, for screen readers. */
  readonly label: string;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** No two rows have the same. */
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" class={classOf(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.label} scope="row">
                    {column.of(row)}
                  </th>
                ) : (
                  <td key={column.label} class={classOf(column)}>
                    {column.of(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function classOf<Row>({ isNumber = false }: Column<Row>): string {
  return isNumber ? "number" : "";
}
