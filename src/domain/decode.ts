/**
 * The bytes of a value to JSON.
 *
 *   value                                      result
 *   none (a tombstone)                         undecodable
 *   begins with byte 0                         unknown-schema: framed by a schema registry, and none
 *                                              is configured here
 *   not UTF-8                                  undecodable
 *   not JSON                                   undecodable
 *   a byte-order mark, then JSON               the JSON
 *   JSON                                       the JSON
 *
 * UTF-8 is decoded fatally: a replacement character would alter customer data silently.
 */

export type DecodedValue =
  | {
      readonly kind: "json";
      readonly json: unknown;
      /** The text that it was read from. */
      readonly text: string;
    }
  | {
      readonly kind: "refused";
      readonly reason: "undecodable" | "unknown-schema";
      /** One sentence, without any of the value. */
      readonly error: string;
    };

const UTF8 = new TextDecoder("utf-8", { fatal: true });

export function decodeValue(value: Buffer | null): DecodedValue {
  if (value === null) return refused("undecodable", "the record has no value");
  if (value[0] === 0) {
    return value.length < 5
      ? refused("unknown-schema", "the value begins with byte 0 and has no whole schema id")
      : refused(
          "unknown-schema",
          `the value has schema ${value.readUInt32BE(1)}, and no schema registry is configured`,
        );
  }
  let text: string;
  try {
    text = UTF8.decode(value);
  } catch {
    return refused("undecodable", "the value is not UTF-8");
  }
  try {
    return { kind: "json", json: JSON.parse(text) as unknown, text };
  } catch (error) {
    return refused("undecodable", `the value is not JSON${place(error)}`);
  }
}

function refused(reason: "undecodable" | "unknown-schema", error: string): DecodedValue {
  return { kind: "refused", reason, error };
}

/** V8 quotes the text in its message; the position alone gives nothing away. */
function place(error: unknown): string {
  const position = error instanceof Error ? / at position (\d+)/.exec(error.message) : null;
  return position === null ? "" : `, at character ${position[1]}`;
}
