import { expect, test } from "vitest";

import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import { watchMemoryLimit } from "../../../../src/base/telemetry/watch-process.ts";

const MIB = 1_048_576;

test.each([
  ["a container's limit", 512 * MIB, `${512 * MIB}`],
  ["no control group", 0, "0"],
  ["a control group without a limit", 2 ** 64, "0"],
  ["a limit beyond the machine's memory", 9_000 * MIB, "0"],
])("%s: %d is shown as %s", async (_, constrained, shown) => {
  const metrics = createMetrics();
  using _watch = watchMemoryLimit(metrics, () => constrained, 8_192 * MIB);
  const line = /^switchyard_memory_limit_bytes (.+)$/m.exec(await metrics.text());
  expect(line?.[1]).toBe(shown);
});

test("a limit that is changed is seen at the next scrape", async () => {
  const metrics = createMetrics();
  let limit = 256 * MIB;
  using _watch = watchMemoryLimit(metrics, () => limit, 8_192 * MIB);
  await metrics.text();
  limit = 512 * MIB;
  expect(await metrics.text()).toContain(`switchyard_memory_limit_bytes ${512 * MIB}\n`);
});
