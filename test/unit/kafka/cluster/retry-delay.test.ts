import { expect, test } from "vitest";

import { retryDelayMs } from "../../../../src/kafka/cluster/retry-delay.ts";

test("retries wait longer and longer, two seconds at most", () => {
  expect([1, 2, 3, 6, 100, 10_000].map(retryDelayMs)).toEqual([100, 200, 400, 2000, 2000, 2000]);
});
