/** A table with few rows. A column is defined by its heading and a function that renders the cell for a row. */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly label: string;
  readonly isNumber?: boolean;
  readonly of: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  /** The name of the table, for screen readers. */
  readonly label: string;
  /** The first column contains the name of the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Returns a key that is unique in the table. */
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="scroll" aria-label={label} tabIndex={0}>
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
              {columns.map((column, index) => {
                const [Cell, scope] = index === 0 ? (["th", "row"] as const) : (["td"] as const);
                return (
                  <Cell key={column.label} scope={scope} class={classOf(column)}>
                    {column.of(row)}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function classOf<Row>({ isNumber = false }: Column<Row>): string {
  return isNumber ? "number" : "";
}
