/**
 * Kafka's variable-length integers: zigzag, then seven bits per byte, least significant first.
 *
 * All values are plain numbers. Lengths and offset deltas fit in 32 bits. Timestamp deltas may not fit, so separate,
 * slower functions handle them.
 */

/** The number of bytes that a value in the range of int32 takes. */
export function varintBytes(value: number): number {
  const zigzag = (value << 1) ^ (value >> 31);
  // Five bytes hold 32 bits. For 0, clz32 returns 32, but one byte is still needed.
  return zigzag === 0 ? 1 : ((38 - Math.clz32(zigzag)) / 7) | 0;
}

/** Writes a value in the range of int32 and returns the position after it. */
export function writeVarint(target: Buffer, at: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  let end = at;
  while (rest > 0x7f) {
    target[end++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[end++] = rest;
  return end;
}

function isInt32(value: number): boolean {
  return (value | 0) === value;
}

function zigzag64(value: number): bigint {
  return BigInt.asUintN(64, value < 0 ? ~(BigInt(value) << 1n) : BigInt(value) << 1n);
}

/** The number of bytes that an integer below 2^53 takes. */
export function varlongBytes(value: number): number {
  if (isInt32(value)) return varintBytes(value);
  let bytes = 1;
  for (let rest = zigzag64(value) >> 7n; rest > 0n; rest >>= 7n) bytes += 1;
  return bytes;
}

/** Writes an integer below 2^53 and returns the position after it. */
export function writeVarlong(target: Buffer, at: number, value: number): number {
  if (isInt32(value)) return writeVarint(target, at, value);
  let rest = zigzag64(value);
  let end = at;
  while (rest > 0x7fn) {
    target[end++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[end++] = Number(rest);
  return end;
}
