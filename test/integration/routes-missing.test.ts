// Two processes in one group, one of which routes to a destination that is not configured in the other.

import { writeFileSync } from "node:fs";
import { describe, type TestContext, test } from "vitest";
import { stringify } from "yaml";
import { uniquePrefix } from "../support/build/prefix.ts";
import { programWorld, type RunningProgram } from "../support/servers/program.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const BROKERS = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const MINUTE = { interval: 500, timeout: 60_000 };

/** Starts two processes with separate files. */
function twoConfigurations(stages: string, onTestFinished: TestContext["onTestFinished"]) {
  const prefix = uniquePrefix("routes");
  const configOf = (destinations: readonly string[]) =>
    stringify({
      kafka: { brokers: BROKERS, topicPrefix: prefix, partitions: 2, replicationFactor: 1 },
      sources: [{ id: "web", writeKey: "a-write-key-of-tests", destinations }],
      defaultSource: "web",
      destinations: destinations.map((id) => ({
        ...{ id, type: "webhook", name: id, endpoints: [{ url: "https://example.com/hook" }] },
      })),
      admin: { host: "127.0.0.1", port: 0 },
    });
  const start = (destinations: readonly string[]) => {
    const world = programWorld(configOf(destinations));
    onTestFinished(() => world[Symbol.asyncDispose]());
    const program = world.start(["--stages", stages]);
    /** Makes the process read its file again, like the file watcher or a signal. */
    const change = (to: readonly string[]) => {
      writeFileSync(world.file, configOf(to));
      program.child.kill("SIGHUP");
    };
    return { ...program, change };
  };
  return { start, prefix };
}

async function metric(program: RunningProgram, name: string): Promise<number> {
  const { port } = await program.logged("admin.listening");
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
}

async function healthProblems(program: RunningProgram): Promise<string> {
  const { port } = await program.logged("admin.listening");
  return await (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
}

// Each process waits for half a minute.
describe.concurrent("two processes of a group", () => {
  test.for(["route", "deletion"])(
    "%s: the process that lacks a destination reports it within a minute, and what to replay when it is over",
    async (stages, { expect, onTestFinished }) => {
      const { start } = twoConfigurations(stages, onTestFinished);
      const old = start(["crm"]);
      await old.logged("ready");
      const beganAtMs = Date.now();
      const fresh = start(["crm", "erp"]);
      await fresh.logged("ready");
      await expect.poll(() => metric(old, "switchyard_routes_missing"), MINUTE).toBe(1);
      await expect
        .poll(() => old.lines.some(({ msg }) => msg === "routes.missing"), MINUTE)
        .toBe(true);
      expect(await metric(fresh, "switchyard_routes_missing")).toBe(0);
      expect(await healthProblems(old)).toContain("erp");
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
      expect(await metric(old, "switchyard_routes_missing")).toBe(0);
    },
  );

  test("a process that is killed counts for 90 s, and one that applies the same configuration reports that it is over", async ({
    expect,
    onTestFinished,
  }) => {
    const { start } = twoConfigurations("route", onTestFinished);
    const fresh = start(["crm", "erp"]);
    await fresh.logged("ready");
    const old = start(["crm"]);
    await old.logged("ready");
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
    const { start, prefix } = twoConfigurations("route", onTestFinished);
    const old = start(["crm"]);
    await old.logged("ready");
    const same = start(["crm"]);
    await same.logged("ready");
    const kafka = testKafka({ sessionTimeoutMs: 6_000 });
    onTestFinished(() => kafka.close());
    const [log] = await kafka.admin.offsets(`${prefix}operator-actions`);
    // Each process has written its record, so both have seen each other.
    expect(log?.end).toBeGreaterThanOrEqual(2);
    for (const program of [old, same]) {
      expect(await metric(program, "switchyard_routes_missing")).toBe(0);
      program.child.kill("SIGTERM");
      expect(await program.ended).toBe(0);
      expect(program.lines.some(({ msg }) => `${msg}`.startsWith("routes."))).toBe(false);
    }
  });
});
