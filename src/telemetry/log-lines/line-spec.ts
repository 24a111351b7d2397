/** How a log line is declared. */

import type { LogFieldName } from "./fields.ts";

export interface LineSpec {
  /** Several where it depends on what has happened. */
  readonly levels: readonly ("debug" | "info" | "warn" | "error")[];
  readonly meaning: string;
  /** For an operator; null: nothing. */
  readonly action: string | null;
  /** On each such line. */
  readonly fields: readonly LogFieldName[];
  /** On some of them. */
  readonly optional?: readonly LogFieldName[];
}

export type LineTable = Readonly<Record<string, LineSpec>>;
