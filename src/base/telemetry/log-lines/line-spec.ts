/** The declaration of a log line. */

import type { LogFieldName } from "./fields.ts";

export interface LineSpec {
  /** The possible levels. There are several if the level depends on the event. */
  readonly levels: readonly ("debug" | "info" | "warn" | "error")[];
  readonly meaning: string;
  /** What an operator should do; null if nothing has to be done. */
  readonly action: string | null;
  /** Fields that each line of this kind has. */
  readonly fields: readonly LogFieldName[];
  /** Fields that only some of these lines have. */
  readonly optional?: readonly LogFieldName[];
}

export type LineTable = Readonly<Record<string, LineSpec>>;
