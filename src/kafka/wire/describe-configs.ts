/**
 * Encodes DescribeConfigs requests, versions 1 to 3, and reads their responses. Brokers of Kafka 1.1 and later accept
 * at least one of these versions.
 *
 *   version   adds
 *   2         nothing in these bytes
 *   3         documentation, which is not requested
 */

import { MessageReader } from "./flexible.ts";

const WITH_DOCUMENTATION = 3;
const THROTTLE_BYTES = 4;

export const TOPIC = 2;
export const BROKER = 4;

export interface ConfigsQuery {
  readonly kind: typeof TOPIC | typeof BROKER;
  /** Topics, or a broker's node ID. */
  readonly names: readonly string[];
  readonly keys: readonly string[];
}

export interface DescribedConfigs {
  /** The topic, or the broker's node ID. */
  readonly name: string;
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
  readonly errorMessage: string | null;
  /** Values by key; null for a secret one. */
  readonly values: ReadonlyMap<string, string | null>;
}

export function encodeDescribeConfigs(
  { kind, names, keys }: ConfigsQuery,
  version: number,
): Buffer {
  const parts: Buffer[] = [int32(names.length)];
  for (const name of names) {
    parts.push(Buffer.from([kind]), text(name), int32(keys.length), ...keys.map(text));
  }
  // Synonyms and documentation are not requested.
  parts.push(Buffer.alloc(version >= WITH_DOCUMENTATION ? 2 : 1));
  return Buffer.concat(parts);
}

/** @param payload the part of the response that follows the correlation ID. */
export function readDescribedConfigs(
  payload: Buffer,
  version: number,
): readonly DescribedConfigs[] {
  const reader = new MessageReader(payload, THROTTLE_BYTES);
  const synonym = (): void => {
    reader.plainString();
    reader.plainString();
    reader.skip(1); // the source of its value
  };
  const setting = (): [key: string, value: string | null] => {
    const key = reader.plainString() ?? "";
    const value = reader.plainString();
    reader.skip(3); // if it is read-only, the source of its value, if it is a secret
    reader.plainArray(synonym);
    if (version >= WITH_DOCUMENTATION) {
      reader.skip(1); // the type of its value
      reader.plainString(); // documentation
    }
    return [key, value];
  };
  return reader.plainArray(() => {
    const errorCode = reader.int16();
    const errorMessage = reader.plainString();
    reader.skip(1); // the kind
    const name = reader.plainString() ?? "";
    return { name, errorCode, errorMessage, values: new Map(reader.plainArray(setting)) };
  });
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.alloc(2 + Buffer.byteLength(value));
  bytes.writeInt16BE(bytes.write(value, 2));
  return bytes;
}
