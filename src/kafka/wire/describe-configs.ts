/**
 * Encodes DescribeConfigs requests, versions 1 to 3, and reads their responses. Brokers of Kafka 1.1 and later accept
 * at least one of these versions.
 *
 *   version   adds
 *   2         nothing in these bytes
 *   3         documentation, which is not requested
 */

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
  let at = THROTTLE_BYTES;
  const int32 = (): number => {
    at += 4;
    return payload.readInt32BE(at - 4);
  };
  const nullable = (): string | null => {
    const bytes = payload.readInt16BE(at);
    at += 2;
    if (bytes < 0) return null;
    at += bytes;
    return payload.toString("utf8", at - bytes, at);
  };
  const list = <Item>(read: () => Item): Item[] => Array.from({ length: int32() }, read);
  const synonym = (): void => {
    nullable();
    nullable();
    at += 1; // the source of its value
  };
  const setting = (): [key: string, value: string | null] => {
    const key = nullable() ?? "";
    const value = nullable();
    at += 3; // if it is read-only, the source of its value, if it is a secret
    list(synonym);
    if (version >= WITH_DOCUMENTATION) {
      at += 1; // the type of its value
      nullable(); // documentation
    }
    return [key, value];
  };
  return list(() => {
    const errorCode = payload.readInt16BE(at);
    at += 2;
    const errorMessage = nullable();
    at += 1; // the kind
    const name = nullable() ?? "";
    return { name, errorCode, errorMessage, values: new Map(list(setting)) };
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
