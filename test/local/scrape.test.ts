// Two looks at the metrics of processes, at real admin ports.

import { expect, test } from "vitest";

import { createHealth } from "../../src/admin/health.ts";
import { startAdmin } from "../../src/admin/server.ts";
import { rateOf } from "../../src/cli/status/rates.ts";
import { scrapeTwice } from "../../src/cli/status/scrape.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { freePort } from "../../tools/kafka/free-port.ts";

test("counts what happened in between, and says of others why it cannot", async () => {
  const metrics = createMetrics();
  const address = { host: "127.0.0.1", port: 0 };
  await using admin = await startAdmin(address, {
    health: createHealth(),
    metrics,
    status: () => ({}),
  });
  const gone = `127.0.0.1:${await freePort()}`;
  metrics.lag.bind({ stage: "deliver", destination: "crm" }).set(0);
  const accepted = metrics.attempts.bind({ destination: "crm", outcome: "accepted" });
  accepted.inc(5);
  let looks = 0;
  metrics.onScrape(() => {
    looks += 1;
    if (looks === 2) accepted.inc(7);
  });
  const here = `127.0.0.1:${admin.port}`;
  const never = new AbortController().signal;
  const [one, other] = await scrapeTwice([here, gone], 50, never);
  expect(other).toEqual({ kind: "unreachable", address: gone, why: "ECONNREFUSED" });
  if (one?.kind !== "process") throw new Error(one?.why);
  const { before, after } = one.process;
  const minutes = (after.atMs - before.atMs) / 60_000;
  const rate = rateOf([one.process], "deliver", "crm");
  expect((rate?.donePerMinute ?? 0) * minutes).toBeCloseTo(7);
});
