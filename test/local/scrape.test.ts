// Two looks at the metrics of processes, at real admin ports.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { adminAddress } from "../../src/cli/admin-address.ts";
import { rateOf } from "../../src/operate/look/rates.ts";
import { scrapeAll } from "../../src/operate/look/scrape.ts";
import { startAdmin } from "../../src/run/admin-server.ts";
import { createHealth } from "../../src/run/health.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { freePort } from "../../tools/kafka/free-port.ts";

test("counts what happened in between, and says of others why it cannot", async () => {
  const metrics = createMetrics();
  const address = { host: "127.0.0.1", port: 0 };
  await using admin = await startAdmin(address, {
    health: createHealth(),
    metrics,
    status: () => ({ version: "1.2.3", stages: [{ name: "route", partitions: {} }] }),
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
  const [one, other] = await scrapeAll([here, gone], 50, never);
  expect(other).toEqual({ kind: "unreachable", address: gone, why: "ECONNREFUSED" });
  if (one?.kind !== "process") throw new Error(one?.why);
  expect(one.status).toMatchObject({ version: "1.2.3", stages: [{ name: "route" }] });
  const { before, after } = one.process;
  const minutes = (after.atMs - before.atMs) / 60_000;
  const rate = rateOf([one.process], "deliver", "crm");
  expect((rate?.donePerMinute ?? 0) * minutes).toBeCloseTo(7);
});

const loopback = Object.entries(networkInterfaces()).find(([, all]) =>
  all?.some(({ address }) => address === "::1"),
)?.[0];

test.skipIf(loopback === undefined)("an address of IPv6 may have a zone", async () => {
  const health = createHealth();
  const status = () => ({ version: "1.2.3", stages: [] });
  const address = { host: "::1", port: 0 };
  await using admin = await startAdmin(address, { health, metrics: createMetrics(), status });
  const [given = ""] = adminAddress(`[::1%${loopback}]:${admin.port}`);
  const [seen] = await scrapeAll([given], 50, new AbortController().signal);
  expect(seen).toMatchObject({ kind: "process", status: { version: "1.2.3" } });
});

test("a process of a version that has no status is asked for its metrics all the same", async () => {
  const server = createServer((request, response) => {
    const isKnown = request.url === "/metrics";
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? "a 1\n" : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const here = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [found] = await scrapeAll([here], 10, new AbortController().signal);
  expect(found).toMatchObject({ kind: "process", status: null });
});
