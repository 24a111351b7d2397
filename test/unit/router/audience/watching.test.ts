// Metrics and logs show syncs and stores, but no users.

import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { PartitionState } from "../../../../src/router/audience/partition-state.ts";
import {
  approvalProblems,
  audiencesOf,
  restoreProblems,
  watchAudiences,
} from "../../../../src/router/audience/report.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

const users = (...numbers: number[]) => numbers.map((number) => `u${number}`);

test("a sync that awaits approval is in /readyz until it is approved or replaced", async () => {
  const world = new AudienceWorld({ defaults: { approvalShare: 0.5, approvalMinimum: 1 } });
  const process = await world.start();
  const awaitingApproval = (syncId: string) => [
    `sync ${syncId} of audience a awaits approval, because it would remove 3 members. To apply it, run switchyard audience approve a`,
  ];
  world.sync("a", "s1", users(1, 2, 3, 4), "VIP");
  await world.settle();
  expect(process.stage.healthProblems()).toEqual([]);
  world.sync("a", "s2", users(1), "VIP");
  await world.settle();
  expect(process.stage.healthProblems()).toEqual(awaitingApproval("s2"));
  world.sync("a", "s3", users(2), "VIP");
  await world.settle();
  expect(process.stage.healthProblems()).toEqual(awaitingApproval("s3"));
  world.append({ type: "approve", audienceId: "a", syncId: "s3" });
  await world.settle();
  expect(process.stage.healthProblems()).toEqual([]);
  await process.close();
});

test("syncs are counted by how they ended, with their duration, and users by what was reported of them", async () => {
  const world = new AudienceWorld({ defaults: { approvalShare: 0.5, approvalMinimum: 1 } });
  const process = await world.start();
  const sync = { audienceId: "a", audienceName: "VIP" };
  world.sync("a", "s1", users(1, 2, 3, 4), "VIP");
  world.append({ type: "begin", ...sync, syncId: "s2" });
  world.append({ type: "members", ...sync, syncId: "s2", userIds: users(5) });
  world.append({ type: "begin", ...sync, syncId: "s3" });
  world.append({ type: "end", ...sync, syncId: "s3", count: 9 });
  world.sync("a", "s4", users(1), "VIP");
  world.append({ type: "approve", audienceId: "a", syncId: "s4" });
  world.append({ type: "trait", userId: "u1", traitName: "Plan", value: "pro" });
  world.append({ type: "delete", audienceId: "a" });
  await world.settle();

  const lines = process.lines.filter(({ msg }) => `${msg}`.startsWith("audience.sync."));
  expect(lines.map(({ msg, sync: id, outcome, removed }) => [msg, id, outcome, removed])).toEqual([
    ["audience.sync.started", "s1", undefined, undefined],
    ["audience.sync.ended", "s1", "complete", 0],
    ["audience.sync.started", "s2", undefined, undefined],
    ["audience.sync.ended", "s2", "abandoned", 0],
    ["audience.sync.started", "s3", undefined, undefined],
    ["audience.sync.ended", "s3", "count-mismatch", 0],
    ["audience.sync.started", "s4", undefined, undefined],
    ["audience.sync.ended", "s4", "awaiting-approval", 0],
    ["audience.sync.ended", "s4", "approved", 4],
    ["audience.sync.ended", "s4", "deleted", 1],
  ]);
  expect(lines[1]).toMatchObject({ audience: "a", key: "vip", members: 4, received: 4 });
  expect(lines[1]?.durationMs).toBeTypeOf("number");

  const text = await process.metrics.text();
  for (const [outcome, count] of Object.entries({
    started: 4,
    complete: 1,
    "awaiting-approval": 1,
    approved: 1,
  })) {
    expect(text).toContain(`switchyard_audience_syncs_total{outcome="${outcome}"} ${count}\n`);
  }
  for (const outcome of ["abandoned", "count-mismatch", "deleted"]) {
    expect(text).toContain(`switchyard_audience_syncs_total{outcome="${outcome}"} 1\n`);
  }
  expect(text).toContain('switchyard_audience_changes_total{change="entered"} 5\n');
  expect(text).toContain('switchyard_audience_changes_total{change="left"} 5\n');
  expect(text).toContain('switchyard_audience_changes_total{change="trait"} 1\n');
  expect(text).toContain("switchyard_audience_members 0\n");
  const said = `${JSON.stringify(process.lines)}${text}`;
  expect(users(1, 2, 3, 4, 5).filter((user) => said.includes(`"${user}"`))).toEqual([]);
  await process.close();
});

test("a rebuild says how far it is", async () => {
  const world = new AudienceWorld({ readMs: 6_000 });
  const before = await world.start();
  world.sync("a", "s1", users(1, 2));
  await world.settle();
  await before.close();
  const after = await world.start(new MemoryStores());
  await world.until(() => after.lines.some(({ storeState }) => storeState !== undefined));
  world.sync("a", "s2", users(2));
  await world.settle();
  const progress = after.lines.filter(({ msg }) => msg === "audience.store.restoring");
  expect(progress[0]).toMatchObject({ partition: 0, level: "info" });
  expect(progress.at(-1)?.offset).toBe(progress.at(-1)?.end);
  expect(after.lines.find(({ storeState }) => storeState !== undefined)?.storeState).toBe(
    "missing",
  );
  expect(await after.metrics.text()).toContain(
    'switchyard_audience_stores_opened_total{state="missing"} 1\n',
  );
  await after.close();
});

test("a store that knows more than the changelog is thrown away", async () => {
  const stores = new MemoryStores();
  const other = new AudienceWorld();
  const before = await other.start(stores);
  for (const sync of ["s1", "s2", "s3"]) other.sync("a", sync, users(1, 2, 3, Number(sync[1]) + 3));
  await other.settle();
  await before.close();
  const world = new AudienceWorld();
  const process = await world.start(stores);
  world.sync("a", "s1", users(1, 9));
  await world.settle();
  expect(world.reported()).toEqual(["u1 a=true", "u9 a=true"]);
  const rebuilt = process.lines.find(({ msg }) => msg === "audience.store.rebuilding");
  expect(rebuilt).toMatchObject({ storeState: "ahead", level: "warn" });
  await process.close();
});

test("while a store is built its counts are absent, and a sentence says how far it is", async () => {
  const metrics = createMetrics();
  const state = { audiences: () => [] } as unknown as PartitionState;
  const fifth: { state: PartitionState | null } = { state: null };
  const works = new Map([
    [2, { state }],
    [5, fifth],
  ]);
  const reading = new Map([
    [2, { offset: 7, end: 7 }],
    [5, { offset: 240_048, end: 1_000_200 }],
  ]);
  const healthProblems = () => restoreProblems(works, reading, "switchyard.audience-members");
  watchAudiences(metrics, works, () => 0);
  expect(await metrics.text()).not.toContain("\nswitchyard_audience_members ");
  expect(healthProblems()).toEqual([
    "the state store of partition 5 is being restored from switchyard.audience-members (24 % of 1000200 records have been read); the partition's syncs wait until the restore is complete",
  ]);
  fifth.state = state;
  expect(healthProblems()).toEqual([]);
  expect(await metrics.text()).toContain("switchyard_audience_members 0\n");
});

test("an ID from a sync record is quoted in the advice", () => {
  const awaitingApproval = { syncId: "s", removals: 3, sinceMs: 0 };
  const [text] = approvalProblems([{ id: "vip; curl x|sh # it's", awaitingApproval }]);
  expect(text).toContain("run switchyard audience approve 'vip; curl x|sh # it'\\''s'");
});

test("audiences of open stores are reported, with the sync that awaits approval", () => {
  const awaitingApproval = { syncId: "s4", begin: 7, removals: 9, sinceMs: 5 };
  const audiences = [
    { id: "a", awaitingApproval },
    { id: "b", awaitingApproval: null },
  ];
  const open = { audiences: () => audiences } as unknown as PartitionState;
  const works = new Map<number, { state: PartitionState | null }>([
    [0, { state: open }],
    [1, { state: null }],
  ]);
  expect(audiencesOf(works)).toEqual([
    { id: "a", awaitingApproval: { syncId: "s4", removals: 9, sinceMs: 5 } },
    { id: "b", awaitingApproval: null },
  ]);
});
