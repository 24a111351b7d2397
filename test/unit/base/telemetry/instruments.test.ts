// Label sets that are added and removed with destinations.

import { expect, test } from "vitest";

import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";

const lines = async (metrics: ReturnType<typeof createMetrics>) =>
  (await metrics.text()).split("\n").filter((line) => line.includes("destination="));

test("all that was counted for a destination is forgotten, and counted from 0 when it is back", async () => {
  const metrics = createMetrics();
  for (const destination of ["crm", "crm-2"]) {
    metrics.callsRouted.bind({ destination }).inc(3);
    metrics.attempts.bind({ destination, outcome: "accepted" }).inc(2);
    metrics.attemptDuration.bind({ destination }).observe(1);
    metrics.lag.bind({ stage: "deliver", destination }).set(4);
  }
  metrics.lag.bind({ stage: "route", destination: "" }).set(5);
  const all = await lines(metrics);
  const stale = metrics.callsRouted.bind({ destination: "crm" });
  metrics.forget("destination", new Set(["crm", "never-there"]));
  stale.inc();
  expect(await lines(metrics)).toEqual(all.filter((line) => !line.includes('"crm"')));
  metrics.callsRouted.bind({ destination: "crm" }).inc();
  expect(await lines(metrics)).toContain('switchyard_route_deliveries_total{destination="crm"} 1');
});

test("a gauge without labels is 0 before its first use, and absent while it is not known", async () => {
  const metrics = createMetrics();
  expect(await metrics.text()).toContain("\nswitchyard_audience_members 0\n");
  metrics.audienceMembers.bind({}).set(Number.NaN);
  expect(await metrics.text()).not.toContain("\nswitchyard_audience_members ");
});

test("CPU counts from the start of the process, and not from when metrics were made", async () => {
  const { user, system } = process.cpuUsage();
  const text = await createMetrics().text();
  const seconds = (kind: string) =>
    Number(new RegExp(`^process_cpu${kind}_seconds_total (\\S+)$`, "m").exec(text)?.[1]);
  expect(seconds("_user")).toBeGreaterThanOrEqual(user / 1e6);
  expect(seconds("_system")).toBeGreaterThanOrEqual(system / 1e6);
  expect(seconds("")).toBeGreaterThanOrEqual((user + system) / 1e6);
});
