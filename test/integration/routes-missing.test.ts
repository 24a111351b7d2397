// Two processes in one group, one of which routes to a destination that is not configured in the other.

import { writeFileSync } from "node:fs";
import { describe, type TestContext, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram } from "../support/kit/program.ts";

/** Starts two processes with separate files. */
function twoConfigurations(stages: string, lifetime: TestContext["onTestFinished"]) {
  const own = useKafka("routes", { lifetime });
  const configWith = (ids: readonly string[]) =>
    configOf({
      kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 2 },
      destinations: Object.fromEntries(ids.map((id) => [id, "https://example.com/hook"])),
    });
  const start = async (destinations: readonly string[]) => {
    const world = useProgram(configWith(destinations), lifetime);
    const program = await world.ready(stages);
    /** Makes the process read its file again, like the file watcher or a signal. */
    const change = (to: readonly string[]) => {
      writeFileSync(world.file, configWith(to));
      program.child.kill("SIGHUP");
    };
    const missing = () => program.sample("switchyard_routes_missing ");
    return { ...program, change, missing };
  };
  return { ...own, start };
}

describe.concurrent("two processes of a group", () => {
  test.for(["route", "deletion"])(
    "%s: the process that lacks a destination reports it within a minute, and what to replay when it is over",
    async (stages, { expect, onTestFinished }) => {
      const { start } = twoConfigurations(stages, onTestFinished);
      const old = await start(["crm"]);
      const beganAtMs = Date.now();
      const fresh = await start(["crm", "erp"]);
      await expect.poll(old.missing).toBe(1);
      await expect.poll(() => old.lines.some(({ msg }) => msg === "routes.missing")).toBe(true);
      expect(await fresh.missing()).toBe(0);
      expect(await old.get("/readyz")).toContain("erp");
      const line = await old.logged("routes.missing");
      expect(line).toMatchObject({ destinations: ["erp"], sources: ["web"] });
      fresh.child.kill("SIGTERM");
      const over = await old.logged("routes.missing-over");
      const { since, until } = over as { since: string; until: string };
      expect(over.fix).toBe(`switchyard replay erp --since ${since} --until ${until}`);
      // The range includes the time in which both were running.
      expect(Date.parse(since)).toBeGreaterThanOrEqual(beganAtMs - 1_000);
      expect(Date.parse(since)).toBeLessThan(Date.parse(`${line.time}`) - 29_000);
      expect(Date.parse(until)).toBeGreaterThan(Date.parse(`${line.time}`));
      expect(await old.missing()).toBe(0);
    },
  );

  test("a process that is killed counts for 90 s, and one that applies the same configuration reports that it is over", async ({
    expect,
    onTestFinished,
  }) => {
    const { start } = twoConfigurations("route", onTestFinished);
    const fresh = await start(["crm", "erp"]);
    const old = await start(["crm"]);
    await fresh.kill();
    await old.logged("routes.missing");
    old.change(["crm", "erp"]);
    const over = await old.logged("routes.missing-over");
    expect(over).toMatchObject({ destinations: ["erp"] });
  });

  test("processes that share no work, and those with the same destinations, report nothing", async ({
    expect,
    onTestFinished,
  }) => {
    const { start, writtenTo } = twoConfigurations("route", onTestFinished);
    const old = await start(["crm"]);
    const same = await start(["crm"]);
    // Each process has written its record, so both have seen each other.
    expect(await writtenTo("operator-actions")).toBeGreaterThanOrEqual(2);
    for (const program of [old, same]) {
      expect(await program.missing()).toBe(0);
      expect(await program.stop()).toBe(0);
      expect(program.lines.some(({ msg }) => `${msg}`.startsWith("routes."))).toBe(false);
    }
  });
});
