/** A record's value without headers, to be decoded. */

import type { RecordValue } from "../../../src/domain/decode.ts";

export function recordValue(value: Buffer | string | null): RecordValue {
  return { value: typeof value === "string" ? Buffer.from(value) : value, headers: [] };
}
