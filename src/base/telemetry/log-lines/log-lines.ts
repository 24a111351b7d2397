/**
 * The table of log lines. The types of log calls and `docs/logs.md` are derived from it, so code that logs a line or
 * a field that is not in the table does not compile. The program uses the table only as a type, so a process never
 * loads it.
 */

import type { LogFieldName, LogFieldValue } from "./fields.ts";
import { KAFKA_LINES } from "./kafka-lines.ts";
import { RUN_LINES } from "./run-lines.ts";
import { STAGE_LINES } from "./stage-lines.ts";

export const LOG_LINES = { ...RUN_LINES, ...KAFKA_LINES, ...STAGE_LINES } as const;

type KnownLines = typeof LOG_LINES;
export type LineName = keyof KnownLines;
export type LineLevel = KnownLines[LineName]["levels"][number];

/** The lines that can be written at a level. */
export type LineAt<Level extends LineLevel> = {
  [Name in LineName]: Level extends KnownLines[Name]["levels"][number] ? Name : never;
}[LineName];

type Needed<Name extends LineName> = KnownLines[Name]["fields"][number];
type Optional<Name extends LineName> = KnownLines[Name] extends {
  readonly optional: readonly (infer Field extends LogFieldName)[];
}
  ? Field
  : never;

export type FieldsOf<Name extends LineName> = {
  readonly [Field in Needed<Name>]: LogFieldValue<Field>;
} & {
  readonly [Field in Optional<Name>]?: LogFieldValue<Field>;
};

/** The keys of all members of a union. */
type KeysOf<Fields> = Fields extends unknown ? keyof Fields : never;

/** Accepts only the fields of the line, even if they are passed in a variable. */
export type Exactly<Name extends LineName, Fields> = Fields & {
  readonly [Other in Exclude<KeysOf<Fields>, Needed<Name> | Optional<Name>>]: never;
};
