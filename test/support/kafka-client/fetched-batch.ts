import type { FetchedBatch } from "../../../src/kafka/membership.ts";

/** One partition of the response to a fetch, with records of 10 bytes at these offsets. */
export function fetchedBatch(
  offsets: readonly number[],
  at: Pick<FetchedBatch, "from" | "end" | "last">,
): FetchedBatch {
  const place = { topic: "t", partition: 0 };
  const value = Buffer.alloc(10);
  return {
    ...place,
    ...at,
    corrupt: null,
    count: offsets.length,
    recordAt: (index) => ({
      ...place,
      offset: offsets[index] ?? -1,
      timestampMs: 0,
      key: null,
      value,
      headers: [],
      bytes: value.length + 64,
    }),
  };
}
