/**
 * The hash with which Java's producers choose a partition for a key: 32-bit murmur2 with Kafka's seed. All producers
 * must write the records of one key to the same partition.
 */

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * As a signed 32-bit integer, like `org.apache.kafka.common.utils.Utils.murmur2`.
 */
export function murmur2(key: Uint8Array): number {
  const { length } = key;
  const whole = length & ~3;
  let hash = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let word = byte(key, at) | (byte(key, at + 1) << 8);
    word |= (byte(key, at + 2) << 16) | (byte(key, at + 3) << 24);
    word = Math.imul(word, M);
    word ^= word >>> 24;
    hash = Math.imul(hash, M) ^ Math.imul(word, M);
  }
  if (length > whole) {
    for (let at = length - 1; at >= whole; at -= 1) hash ^= byte(key, at) << ((at & 3) * 8);
    hash = Math.imul(hash, M);
  }
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

function byte(key: Uint8Array, at: number): number {
  return key[at] ?? 0;
}
