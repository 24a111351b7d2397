// `switchyard topics` with a cluster in memory.

import { expect, test } from "vitest";
import type { Admin, TopicSpec, TopicState } from "../../../../../src/kafka/port.ts";
import { compareTopics } from "../../../../../src/program/cli/topics/command.ts";
import { config } from "../../../../support/build/config-source.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const CONFIG = config(`
kafka: { brokers: [a:1], topicPrefix: t., partitions: 3 }
destinations: [{ id: crm, type: topic, name: Crm }]
delivery: { retryDelays: [10s] }
`);

interface Cluster extends Admin {
  readonly states: Map<string, TopicState>;
  readonly altered: string[];
}

function cluster(...existing: readonly TopicState[]): Cluster {
  const states = new Map(existing.map((state) => [state.name, state]));
  const altered: string[] = [];
  const unused = () => Promise.reject(new Error("not used by this command"));
  return {
    states,
    altered,
    topics: async () => [...states.keys()],
    assertVisible: async () => undefined,
    describe: async (names) => names.flatMap((name) => states.get(name) ?? []),
    create: async (topics: readonly TopicSpec[]) => {
      for (const topic of topics) {
        states.set(topic.name, { ...topic, replicationFactor: topic.replicationFactor ?? 1 });
      }
    },
    alterConfig: async (name, config) => {
      const state = states.get(name);
      if (state === undefined) throw new Error(`no topic ${name}`);
      states.set(name, { ...state, config: { ...state.config, ...config } });
      altered.push(`${name} ${Object.keys(config).join()}`);
    },
    brokerSetting: async () => "10080",
    deleteTopics: unused,
    offsets: unused,
    committed: unused,
    offsetsOf: unused,
    committedOf: unused,
    topicIds: unused,
    requestVersions: unused,
    deleteGroup: unused,
    offsetsAt: unused,
    commit: unused,
  };
}

async function compare(admin: Admin, apply: boolean) {
  const shell = fakeShell();
  const status = await compareTopics(CONFIG, admin, apply, shell);
  return { status, out: shell.output(), err: shell.errors() };
}

test("an empty cluster: prints the plan, creates it on request, then finds nothing to do", async () => {
  const admin = cluster();
  const plan = await compare(admin, false);
  expect(plan.status).toBe(1);
  expect(plan.out.split("\n").slice(0, 2)).toEqual([
    "TOPIC                  DIFFERENCE  IS  PLAN",
    "t.calls                missing     -   3 partitions, kept 7d",
  ]);
  expect(plan.out).toContain("12 topics to create. Run: switchyard topics --apply");
  expect(admin.states.size).toBe(0);

  const applied = await compare(admin, true);
  expect(applied.status).toBe(0);
  expect(applied.out).toContain("Done: 12 topics created.");
  expect([...admin.states.keys()]).toEqual([
    "t.calls",
    "t.audience-syncs",
    "t.deletion-requests",
    "t.deliveries.crm",
    "t.delays.10s",
    "t.dead-letters",
    "t.ledger",
    "t.dead-letter-replays",
    "t.audience-members",
    "t.audiences",
    "t.operator-actions",
    "t.suppressions",
  ]);

  const again = await compare(admin, false);
  expect(again).toEqual({
    status: 0,
    out: "All 12 topics are as planned; nothing to create or change.\n",
    err: "",
  });
});

test("as JSON: the differences, and whether they were removed", async () => {
  const admin = cluster();
  const reported = async (apply: boolean) => {
    const shell = fakeShell();
    const status = await compareTopics(CONFIG, admin, apply, shell, true);
    return { status, ...JSON.parse(shell.output()) };
  };
  const plan = await reported(false);
  expect(plan).toMatchObject({ status: 1, planned: 12, changes: 12, applied: false });
  expect(plan.differences[0]).toMatchObject({ kind: "missing", topic: { name: "t.calls" } });
  expect(await reported(true)).toMatchObject({ status: 0, changes: 12, applied: true });
  expect(await reported(false)).toMatchObject({ status: 0, changes: 0, differences: [] });
});

test("what the cluster rejects is reported with its reason, and the rest is done", async () => {
  const admin = cluster();
  await compare(admin, true);
  for (const name of ["t.calls", "t.deliveries.crm", "t.dead-letters"]) {
    const state = admin.states.get(name);
    if (state === undefined) throw new Error("not created");
    const config = { ...state.config, "max.message.bytes": "1000" };
    admin.states.set(name, { ...state, config });
  }
  const { alterConfig } = admin;
  const strict: Admin = {
    ...admin,
    alterConfig: async (topic, config, onRejected) => {
      if (topic === "t.deliveries.crm") throw new Error("not authorized to alter t.deliveries.crm");
      if (topic !== "t.dead-letters") return await alterConfig(topic, config);
      const [setting, planned] = Object.entries(config)[0] ?? ["", ""];
      onRejected?.({ topic, setting, planned, instead: "1048576", error: "at most 1048588" });
    },
  };
  const { status, out } = await compare(strict, true);
  expect(status).toBe(1);
  expect(out).toMatch(/t.dead-letters +max.message.bytes +1114112 +1048576 +at most 1048588/);
  expect(out).toContain("set kafka.maxMessageBytes to 1MiB");
  expect(out).toContain("not authorized to alter t.deliveries.crm");
  expect(admin.altered).toEqual(["t.calls max.message.bytes"]);
});

test("topics that may not be seen are named with the permission, and the rest is compared", async () => {
  const admin = cluster();
  await compare(admin, true);
  const calls = admin.states.get("t.calls");
  if (calls === undefined) throw new Error("not created");
  admin.states.set("t.calls", { ...calls, config: {}, lacks: "DescribeConfigs" });
  const { status, out, err } = await compare(admin, false);
  expect(status).toBe(1);
  expect(out).toMatch(/t.calls +settings not visible .* DescribeConfigs on the topic/);
  expect(err).toContain(
    "1 topic cannot be compared: the permission DescribeConfigs on the topic t.calls",
  );
  expect(out).toContain("All others are as planned");
});

test("what falls short is set, and nothing else is touched", async () => {
  const admin = cluster();
  await compare(admin, true);
  const calls = admin.states.get("t.calls");
  if (calls === undefined) throw new Error("not created");
  const config = { ...calls.config, "retention.ms": "3600000", "max.message.bytes": "1000" };
  admin.states.set("t.calls", { ...calls, partitions: 1, config });
  const old = { ...calls, name: "t.deliveries.old" };
  admin.states.set(old.name, old);

  const { status, out } = await compare(admin, true);
  expect(status).toBe(0);
  expect(out).toContain("retention.ms               1h");
  expect(out).toContain("partitions (left)          1");
  expect(out).toContain("t.deliveries.old  topic without destination");
  expect(out).toContain("Done: 2 settings changed.");
  expect(admin.altered).toEqual(["t.calls retention.ms,max.message.bytes"]);
  expect(admin.states.get("t.calls")).toMatchObject({ partitions: 1 });
  expect(admin.states.get("t.deliveries.old")).toBe(old);

  // Only changes that cannot be made are left, so there is nothing to do.
  expect(await compare(admin, false)).toMatchObject({ status: 0 });
});
