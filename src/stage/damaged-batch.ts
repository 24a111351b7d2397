/**
 * Whether a consumer has failed because of a batch that is not what its producer wrote. The message
 * names topic, partition and offset.
 */
export function isDamagedBatch(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each.name === "DamagedBatchError") return true;
    each = each.cause;
  }
  return false;
}
