/** Avro values written by avsc, an implementation that is independent of ours. */

import avro from "avsc";

type Schema = Parameters<typeof avro.Type.forSchema>[0];

/** A value of a union is passed in an object, under the name of its branch. */
export function encoded(schema: unknown, value: unknown): Buffer {
  return avro.Type.forSchema(schema as Schema, { wrapUnions: "always" }).toBuffer(value);
}

/** The value with the frame that a registry's serializers write in front of it. */
export function framed(id: number, value: Buffer): Buffer {
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(id, 1);
  return Buffer.concat([frame, value]);
}

/** A 64-bit integer as Avro's zigzag varint. */
export function varint(number: bigint): Buffer {
  let rest = BigInt.asUintN(64, (number << 1n) ^ (number >> 63n));
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}
