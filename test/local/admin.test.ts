// The admin port, as Prometheus and a scheduler use it.

import { expect, onTestFinished, test } from "vitest";
import { ALL_ADDRESSES, hostAndPort } from "../../src/base/runtime/listening.ts";
import { createMetrics, type Metrics } from "../../src/base/telemetry/instruments.ts";
import { startAdmin } from "../../src/program/run/admin-server.ts";
import { createHealth, type Health } from "../../src/program/run/health.ts";

const SOURCES = () => ({ health: createHealth(), metrics: createMetrics(), status: () => STATUS });
const STATUS = { version: "1.2.3", stages: [] };

async function started(): Promise<{ health: Health; metrics: Metrics; url: string }> {
  const health = createHealth();
  const metrics = createMetrics();
  const server = await startAdmin(
    { host: "127.0.0.1", port: 0 },
    { health, metrics, status: () => STATUS },
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { health, metrics, url: `http://127.0.0.1:${server.port}` };
}

test("readyz is 503 at the start, 200 when ready, 503 when stopping, and never ready again", async () => {
  const { health, url } = await started();
  const status = async () => (await fetch(`${url}/readyz`)).status;
  expect(await status()).toBe(503);
  health.become("ready");
  expect(await status()).toBe(200);
  health.become("stopping");
  expect(await status()).toBe(503);
  health.become("ready");
  expect(await status()).toBe(503);
});

test("problems are in the body and change no status", async () => {
  const { health, url } = await started();
  health.add({
    name: "deliver",
    healthProblems: () => ["crm-hook: its consumer is being restarted"],
  });
  health.become("ready");
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    state: "ready",
    stages: { deliver: { healthProblems: ["crm-hook: its consumer is being restarted"] } },
  });
});

test("status says what runs, as JSON", async () => {
  const { url } = await started();
  const response = await fetch(`${url}/status`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(await response.json()).toEqual(STATUS);
});

test("for programs, status has the metrics of the table that are marked for it", async () => {
  const { metrics, url } = await started();
  metrics.onScrape(() => metrics.lag.bind({ stage: "route", destination: "" }).set(7));
  metrics.attemptDuration.bind({ destination: "crm" }).observe(0.02);
  metrics.rebalances.bind({ stage: "route", destination: "" }).inc();
  const response = await fetch(`${url}/status?metrics=`);
  const { metrics: values, ...status } = (await response.json()) as { metrics: object };
  const earlier = { agoMs: expect.any(Number), metrics: {} };
  expect(status).toEqual({ ...STATUS, earlier });
  expect(values).toMatchObject({
    switchyard_consumer_lag_records: [{ labels: { stage: "route", destination: "" }, value: 7 }],
    switchyard_delivery_attempt_duration_seconds: [
      { labels: { destination: "crm" }, value: 1, buckets: [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
    ],
  });
  expect(values).not.toHaveProperty("switchyard_consumer_rebalances_total");
});

test("livez responds whatever the state", async () => {
  const { url } = await started();
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test("metrics shows counters, gauges set at the scrape, histograms and process figures", async () => {
  const { metrics, url } = await started();
  metrics.recordsIn.bind({ stage: "route" }).inc(3);
  metrics.recordsIn.bind({ stage: "route" }).inc();
  metrics.onScrape(() => metrics.waitingUnknown.bind({ delay: "10s" }).set(7));
  metrics.delayLateness.bind({ delay: "10s" }).observe(0.02);
  const response = await fetch(`${url}/metrics`);
  const text = await response.text();
  expect(response.headers.get("content-type")).toContain("version=0.0.4");
  expect(text).toContain('switchyard_records_in_total{stage="route"} 4\n');
  expect(text).toContain('switchyard_delay_uncounted_partitions{delay="10s"} 7\n');
  expect(text).toContain('switchyard_delay_overdue_seconds_bucket{le="0.05",delay="10s"} 1\n');
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
});

test("a label set that was removed is no longer shown, and starts again at nothing", async () => {
  const { metrics } = await started();
  metrics.callsRouted.bind({ destination: "crm" }).inc(5);
  metrics.callsRouted.remove({ destination: "crm" });
  expect(await metrics.text()).not.toContain('destination="crm"');
  metrics.callsRouted.bind({ destination: "crm" }).inc();
  expect(await metrics.text()).toContain('{destination="crm"} 1\n');
});

test.each([
  ["GET", "/", 200],
  ["GET", "/nothing", 404],
  ["POST", "/metrics", 405],
  ["HEAD", "/metrics?x=1", 200],
])("%s %s responds %i", async (method, path, status) => {
  const { url } = await started();
  const response = await fetch(url + path, { method });
  expect(response.status).toBe(status);
  expect(response.headers.get("allow")).toBe(status === 405 ? "GET, HEAD" : null);
});

test("a port in use is an error that names the setting", async () => {
  const { url } = await started();
  const port = Number(new URL(url).port);
  await expect(startAdmin({ host: "127.0.0.1", port }, SOURCES())).rejects.toThrow(
    `admin.host, admin.port: cannot listen on 127.0.0.1:${port}`,
  );
});

const asked = async (url: string, method: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}/-/reload`, { method, headers });
  return [response.status, response.headers.get("allow"), await response.text()];
};

test("a reload is asked for by POST alone, and not by a page in a browser", async () => {
  let reloads = 0;
  const reload = () => {
    reloads += 1;
    return Promise.resolve({ status: 422, report: { outcome: "invalid" } });
  };
  const at = { host: "127.0.0.1", port: 0 };
  const server = await startAdmin(at, { ...SOURCES(), reload });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const url = `http://127.0.0.1:${server.port}`;
  expect(await asked(url, "GET")).toEqual([405, "POST", expect.any(String)]);
  expect((await asked(url, "POST", { origin: "https://evil.example" }))[0]).toBe(403);
  expect(reloads).toBe(0);
  expect(await asked(url, "POST")).toEqual([422, null, '{\n  "outcome": "invalid"\n}\n']);
  expect(reloads).toBe(1);
});

test("where it is not allowed there is no such path", async () => {
  const { url } = await started();
  expect((await asked(url, "POST"))[0]).toBe(405);
  expect((await asked(url, "GET"))[0]).toBe(404);
});

test.each(["127.0.0.1", "::1"])("by default it listens on %s as well", async (address) => {
  const server = await startAdmin({ host: ALL_ADDRESSES, port: 0 }, SOURCES());
  onTestFinished(() => server[Symbol.asyncDispose]());
  const response = await fetch(`http://${hostAndPort(address, server.port)}/livez`);
  expect(response.status).toBe(200);
});

test("an IPv6 address is written in brackets when it cannot be listened on", async () => {
  await expect(startAdmin({ host: "2001:db8::1", port: 1 }, SOURCES())).rejects.toThrow(
    "cannot listen on [2001:db8::1]:1;",
  );
});
