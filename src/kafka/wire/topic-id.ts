/**
 * Encodes requests for topic IDs, and reads the responses. An ID distinguishes a topic from a deleted topic that had
 * the same name.
 *
 * Version 10 of Metadata (Kafka 2.8 and later) contains topic IDs. It uses Kafka's flexible encoding: a length
 * is an unsigned varint of the length plus one, and every structure ends with tagged fields.
 */

const ABSENT_ID = "00000000-0000-0000-0000-000000000000";

/** Starts with the tagged fields that end the request header. */
export function encodeTopicIdRequest(topics: readonly string[]): Buffer {
  const parts: Buffer[] = [Buffer.from([0]), uvarint(topics.length + 1)];
  for (const topic of topics) {
    const name = Buffer.from(topic);
    // A zero ID means that the topic is requested by name.
    parts.push(Buffer.alloc(16), uvarint(name.length + 1), name, Buffer.from([0]));
  }
  // Topics are not created automatically, authorized operations are not returned, and there are no tagged fields.
  parts.push(Buffer.from([0, 0, 0, 0]));
  return Buffer.concat(parts);
}

function uvarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/** @param payload the part of the response that follows the correlation ID */
export function decodeTopicIds(payload: Buffer): ReadonlyMap<string, string> {
  const reader = new FlexibleReader(payload);
  reader.taggedFields();
  reader.skip(4); // throttle time
  reader.array(() => {
    reader.skip(4); // node id
    reader.string(); // host
    reader.skip(4); // port
    reader.string(); // rack
    reader.taggedFields();
  });
  reader.string(); // cluster id
  reader.skip(4); // controller
  const ids = new Map<string, string>();
  reader.array(() => {
    const errorCode = reader.int16();
    const name = reader.string();
    const id = reader.uuid();
    reader.skip(1); // internal
    reader.array(() => {
      reader.skip(2 + 4 + 4 + 4); // error, partition, leader, leader epoch
      for (let list = 0; list < 3; list += 1) reader.array(() => reader.skip(4)); // replicas
      reader.taggedFields();
    });
    reader.skip(4); // authorized operations
    reader.taggedFields();
    if (errorCode === 0 && name !== null && id !== ABSENT_ID) ids.set(name, id);
  });
  return ids;
}

/** Reads Kafka's flexible encoding; throws a RangeError past the end. */
class FlexibleReader {
  readonly #payload: Buffer;
  #at = 0;

  constructor(payload: Buffer) {
    this.#payload = payload;
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  int16(): number {
    this.#at += 2;
    return this.#payload.readInt16BE(this.#at - 2);
  }

  uuid(): string {
    const hex = this.#payload.toString("hex", this.#at, this.#at + 16);
    this.#at += 16;
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  uvarint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#payload.readUInt8(this.#at);
      this.#at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  string(): string | null {
    const length = this.uvarint() - 1;
    if (length < 0) return null;
    this.#at += length;
    return this.#payload.toString("utf8", this.#at - length, this.#at);
  }

  array(readElement: () => void): void {
    const length = this.uvarint() - 1;
    for (let index = 0; index < length; index += 1) readElement();
  }

  taggedFields(): void {
    const fields = this.uvarint();
    for (let field = 0; field < fields; field += 1) {
      this.uvarint();
      this.skip(this.uvarint());
    }
  }
}
