// `switchyard replay` as a child process on a real Kafka: it counts, is killed in the middle, and is resumed. Every
// call is written, and at most one batch is written twice.

import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram } from "../support/kit/program.ts";

const CALLS = 3_000;

test("a new destination gets the calls of before, through a kill", async () => {
  const { prefix, brokers, write, idsIn, writtenTo } = useKafka("replay-calls");
  const configured = (...ids: readonly string[]) =>
    configOf({
      kafka: { brokers, topicPrefix: prefix, partitions: 2 },
      destinations: Object.fromEntries(
        ids.map((id) => [id, { type: "topic", name: id.toUpperCase() }]),
      ),
    });
  const { file, spawn, inProcess } = useProgram(configured("other"));
  const switchyard = (...args: readonly string[]) => inProcess(args);
  const written = () => writtenTo("deliveries.hook");
  expect(await switchyard("topics", "--apply")).toMatchObject({ status: 0 });
  const value = (number: number) => ({
    ...{ type: "track", userId: `u-${number % 50}`, event: "E", messageId: `m-${number}` },
    ...(number % 10 === 0 ? { integrations: { HOOK: false } } : {}),
  });
  const records = Array.from({ length: CALLS }, (_, number) => {
    return { key: `u-${number % 50}`, value: value(number) };
  });
  await write("calls", records);

  // This is the new destination.
  writeFileSync(file, configured("other", "hook"));
  const missing = await switchyard("replay", "hook", "--since", "1h");
  expect(missing.err).toContain(`the topic ${prefix}deliveries.hook does not exist`);
  expect(missing.err).toContain("switchyard topics --apply");
  expect(missing.status).toBe(1);
  expect(await switchyard("topics", "--apply")).toMatchObject({ status: 0 });

  const dry = await switchyard("replay", "hook", "--since", "1h", "--dry-run", "--json");
  expect(JSON.parse(dry.out)).toMatchObject({
    ...{ end: "counted", written: CALLS * 0.9, skipped: { "named-false": CALLS / 10 } },
  });
  expect(await written()).toBe(0);

  const killed = spawn(["replay", "hook", "--since", "1h", "--per-second", "500"]);
  const said = killed.stderr === null ? "" : text(killed.stderr);
  killed.stdout?.resume();
  await expect.poll(written).toBeGreaterThan(300);
  killed.kill("SIGKILL");
  const [, name = ""] = /Replay (\S+) started/.exec(await said) ?? [];
  // Later calls are routed by the stage.
  await write("calls", records.slice(1, 2));
  const resumed = await switchyard("replay", "--resume", name, "--per-second", "100000", "--json");
  expect(resumed.status).toBe(0);
  expect(JSON.parse(resumed.out)).toMatchObject({
    ...{ end: "done", replay: name, resume: null, rejected: 0 },
    ...{ written: CALLS * 0.9, skipped: { "named-false": CALLS / 10 } },
  });

  const ids = await idsIn("deliveries.hook");
  const wanted = records.flatMap((_, number) => (number % 10 === 0 ? [] : [`m-${number}`]));
  expect(new Set(ids)).toEqual(new Set(wanted));
  expect(ids.length - wanted.length).toBeLessThanOrEqual(500);
  expect((await switchyard("replay", "--resume", name)).status).toBe(2);
});
