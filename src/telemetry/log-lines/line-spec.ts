/** How a log line is declared. */

import type { LogFieldName } from "./fields.ts";

export interface LineSpec {
  /** Several levels if it depends on what has happened. */
  readonly levels: readonly ("debug" | "info" | "warn" | "error")[];
  readonly meaning: string;
  /** What an operator should do; null if nothing. */
  readonly action: string | null;
  /** Fields of every such line. */
  readonly fields: readonly LogFieldName[];
  /** Fields of some of these lines. */
  readonly optional?: readonly LogFieldName[];
}

export type LineTable = Readonly<Record<string, LineSpec>>;
