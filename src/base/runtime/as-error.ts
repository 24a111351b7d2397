/** Returns a thrown value as an Error, because promises from other libraries may reject with any value. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}
