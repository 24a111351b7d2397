// Two readings of processes, from real admin ports.

import { networkInterfaces } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { pollProcesses } from "../../src/operator/look/processes.ts";
import { rateOf } from "../../src/operator/look/rates.ts";
import { adminAddress } from "../../src/program/cli/admin-address.ts";
import { startAdmin } from "../../src/program/run/admin-server.ts";
import { createHealth } from "../../src/program/run/health.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { useReceiver } from "../support/kit/receiver.ts";

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
  const [one, other] = await pollProcesses([here, gone], 50, never);
  expect(other).toEqual({ kind: "unreachable", address: gone, why: "ECONNREFUSED" });
  if (one?.kind !== "process") throw new Error(one?.why);
  const { before, after } = one;
  expect(after.status).toMatchObject({ version: "1.2.3", stages: [{ name: "route" }] });
  const minutes = (after.atMs - before.atMs) / 60_000;
  const rate = rateOf([one], "deliver", "crm");
  expect((rate?.donePerMinute ?? 0) * minutes).toBeCloseTo(7);
});

test("without a window, rates are those since the counters that the process remembers", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const metrics = createMetrics();
  const status = () => ({ version: "1.2.3", stages: [] });
  const address = { host: "127.0.0.1", port: 0 };
  await using admin = await startAdmin(address, { health: createHealth(), metrics, status });
  metrics.lag.bind({ stage: "deliver", destination: "crm" }).set(0);
  const accepted = metrics.attempts.bind({ destination: "crm", outcome: "accepted" });
  const counted = async () => {
    const [one] = await pollProcesses(
      [`127.0.0.1:${admin.port}`],
      null,
      new AbortController().signal,
    );
    if (one?.kind !== "process") throw new Error(one?.why);
    const minutes = (one.after.atMs - one.before.atMs) / 60_000;
    return Math.round((rateOf([one], "deliver", "crm")?.donePerMinute ?? 0) * minutes);
  };
  accepted.inc(5);
  expect(await counted()).toBe(5);
  vi.advanceTimersByTime(30_000);
  accepted.inc(7);
  expect(await counted()).toBe(12);
  vi.advanceTimersByTime(30_000);
  accepted.inc(1);
  expect(await counted()).toBe(8);
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
  const [seen] = await pollProcesses([given], null, new AbortController().signal);
  expect(seen).toMatchObject({ kind: "process", after: { status: { version: "1.2.3" } } });
});

test.each([
  [404, "", "it responded 404"],
  [200, "a 1\n", "its response is not a status"],
])("a server that responds %i %j is not a process", async (status, body, why) => {
  const { port } = await useReceiver(() => ({ status, body }));
  const here = `127.0.0.1:${port}`;
  const [found] = await pollProcesses([here], null, new AbortController().signal);
  expect(found).toEqual({ kind: "unreachable", address: here, why });
});
