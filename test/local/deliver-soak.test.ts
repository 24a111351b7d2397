// A short form of `npm run soak`: the memory and sockets that are left after thousands of failed attempts.

import { expect, test } from "vitest";

import { soak } from "../support/servers/soak.ts";

test("5,000 attempts that fail in every way leave no socket open and no memory taken", async () => {
  const { samples, outcomes, openSockets } = await soak(5_000, 64, 5);
  expect(Object.values(outcomes).reduce((sum, count) => sum + count, 0)).toBe(5_000);
  expect(Object.keys(outcomes).sort()).toEqual([
    "200",
    "500",
    "503",
    "address",
    "dns",
    "protocol",
    "refused",
    "reset",
    "timeout",
    "tls-self-signed",
  ]);
  expect(openSockets).toBe(0);
  // A leak of a kilobyte per attempt would be 4 MB.
  const growth = (samples.at(-1)?.usedBytes ?? 0) - (samples[0]?.usedBytes ?? 0);
  expect(growth).toBeLessThan(3_000_000);
});
