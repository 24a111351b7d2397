import { expect, test } from "vitest";
import { AudienceHistory } from "../../../../../src/operator/console/read/audiences.ts";
import type { ClaimedAudience } from "../../../../../src/router/audience/claims.ts";

const T = Date.UTC(2026, 2, 1, 9);
const MINUTE = 60_000;

function record(atMs: number, over: Partial<ClaimedAudience> | null = {}) {
  const base = { id: "vip", name: "VIP", key: "vip", partition: 1, first: 7, claim: 0 };
  const empty = { ...base, members: 0, openSyncId: null, last: null, awaitingApproval: null };
  const value = over === null ? null : Buffer.from(JSON.stringify({ ...empty, ...over }));
  return { key: Buffer.from("vip"), value, timestampMs: atMs };
}

const ended = (syncId: string, endedAtMs: number) => ({ last: { syncId, endedAtMs } });

test("members stay as they were reported, until they are reported again", () => {
  const past = new AudienceHistory();
  past.take([record(T), record(T + 10 * MINUTE, { members: 5 })]);
  past.take([record(T + 30 * MINUTE, { members: 3 })]);
  const reported = past.readMembers("vip", T + 40 * MINUTE);
  const values = reported?.values.members ?? [];
  const at = (minutes: number) =>
    values[Math.floor((T + minutes * MINUTE - (reported?.fromMs ?? 0)) / (reported?.stepMs ?? 1))];
  expect([at(0), at(5), at(11), at(29), at(31), at(40)]).toEqual([0, 0, 5, 5, 3, 3]);
  expect(values.length).toBeLessThanOrEqual(242);
});

test("each sync that ended is reported once, the latest first, with the members after it", () => {
  const past = new AudienceHistory();
  past.take([
    record(T, { openSyncId: "s-1" }),
    record(T + 1, { members: 5, ...ended("s-1", T) }),
    record(T + 2, { members: 5, openSyncId: "s-2", ...ended("s-1", T) }),
    record(T + 3, { members: 9, ...ended("s-2", T + 3) }),
  ]);
  expect(past.readSyncs("vip").map(({ syncId, members }) => [syncId, members])).toEqual([
    ["s-2", 9],
    ["s-1", 5],
  ]);
  expect(past.readSyncs("other")).toEqual([]);
});

test("an audience that is deleted, or recreated, has nothing of the one before", () => {
  const past = new AudienceHistory();
  past.take([record(T, { members: 5, ...ended("s-1", T) }), record(T + 1, null)]);
  expect([past.readMembers("vip", T + 2), past.readSyncs("vip")]).toEqual([null, []]);
  past.take([record(T + 2, { members: 5, ...ended("s-1", T) })]);
  past.take([record(T + 3, { first: 99, members: 1 })]);
  expect(past.readSyncs("vip")).toEqual([]);
  expect(past.readMembers("vip", T + 4)?.values.members).toEqual([1]);
});

test("a record of long ago is drawn for a week, one of the future as of now", () => {
  const past = new AudienceHistory();
  const week = 7 * 86_400_000;
  past.take([record(T - 100 * week, { members: 4 })]);
  const reported = past.readMembers("vip", T);
  expect(reported?.fromMs).toBeGreaterThanOrEqual(T - week);
  expect(new Set(reported?.values.members)).toEqual(new Set([4]));
  past.take([record(T + week, { members: 6 })]);
  expect(past.readMembers("vip", T)?.values.members.at(-1)).toBe(6);
});

test("a record that is not one of the product's counts for nothing", () => {
  const past = new AudienceHistory();
  past.take([{ key: Buffer.from("vip"), value: Buffer.from("{"), timestampMs: T }]);
  past.take([{ key: null, value: null, timestampMs: T }]);
  expect(past.readMembers("vip", T)).toBeNull();
});
