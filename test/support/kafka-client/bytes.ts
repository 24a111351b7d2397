/** The fields of Kafka's responses, as bytes. */

function integer(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
}

export const int16 = (value: number): Buffer => integer(2, value);
export const int32 = (value: number): Buffer => integer(4, value);
/** A value that is not negative, and has at most 48 bits. */
export const int64 = (value: number): Buffer => Buffer.concat([int16(0), integer(6, value)]);

export function text(value: string): Buffer {
  return Buffer.concat([int16(value.length), Buffer.from(value)]);
}
