/** How a log line is declared. */

import type { LogFieldName } from "./fields.ts";

export interface LineSpec {
  /** Several levels if the level depends on what has happened. */
  readonly levels: readonly ("debug" | "info" | "warn" | "error")[];
  readonly meaning: string;
  /** What an operator should do; null if nothing. */
  readonly action: string | null;
  /** Fields that every such line has. */
  readonly fields: readonly LogFieldName[];
  /** Fields that only some of these lines have. */
  readonly optional?: readonly LogFieldName[];
}

export type LineTable = Readonly<Record<string, LineSpec>>;
