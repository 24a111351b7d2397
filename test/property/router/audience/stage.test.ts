// For any syncs in any pieces, and with any kills and losses in between: each user gets the calls of the model, in the
// same order, and a repeated call has the same message ID.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { AudienceModel, type ModelRecord } from "../../../support/worlds/audience-model.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

/** Each input is a whole run of the stage. */
const RUNS = costlyInputs(40, 400);
const USERS = ["u0", "u1", "u2", "u3", "u4", "u5"];
const MANY = Array.from({ length: 12 }, (_, index) => `u${index}`);
const AUDIENCES = ["a", "b"];
const APPROVAL = { approvalShare: 0.5, approvalMinimum: 1 };

const users = fc.subarray(USERS);
const audienceId = fc.constantFrom(...AUDIENCES);
const syncId = fc.constantFrom("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7");

/** Returns `members` records with the users, some of them twice. */
function pieces(id: string, sync: string, all: readonly string[], size: number): ModelRecord[] {
  const records: ModelRecord[] = [];
  for (let from = 0; from < all.length; from += size) {
    const userIds = all.slice(Math.max(0, from - 1), from + size);
    records.push({ type: "members", audienceId: id, syncId: sync, userIds });
  }
  return records;
}

/** A sync as a platform would send it. `cut` omits records at the end. */
const streamed = fc
  .record({
    id: audienceId,
    sync: syncId,
    all: users,
    size: fc.integer({ min: 1, max: 4 }),
    cut: fc.constantFrom(0, 0, 0, 1, 2),
    force: fc.boolean(),
    repeats: fc.boolean(),
  })
  .map(({ id, sync, all, size, cut, force, repeats }): ModelRecord[] => {
    const begin = { type: "begin", audienceId: id, syncId: sync };
    const members = pieces(id, sync, all, size);
    const end = { type: "end", audienceId: id, syncId: sync, count: all.length, force };
    const records = [begin, ...members, ...(repeats ? [begin, ...members] : []), end];
    return records.slice(0, records.length - cut);
  });

const single = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("snapshot"),
      audienceId,
      syncId,
      userIds: users,
      force: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("delete"), audienceId }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("approve"), audienceId, syncId }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("end"),
      audienceId,
      syncId,
      count: fc.constant(2),
      force: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("forget"), userId: fc.constantFrom(...USERS) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("trait"),
      traitName: fc.constantFrom("plan", "score"),
      userId: fc.constantFrom(...USERS),
      value: fc.constantFrom(null, 1, "x", { k: 1 }),
    }),
  },
);

/** Syncs of two audiences, interleaved in one partition. */
const log = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: streamed },
      { weight: 2, arbitrary: single.map((one): ModelRecord[] => [one]) },
    ),
    { minLength: 1, maxLength: 10 },
  )
  .chain((syncs) =>
    fc.array(fc.nat(), { minLength: 40, maxLength: 40 }).map((picks) => interleave(syncs, picks)),
  );

function interleave(syncs: readonly ModelRecord[][], picks: readonly number[]): ModelRecord[] {
  const queues = AUDIENCES.map((id) => syncs.flat().filter((record) => record.audienceId === id));
  queues.push(syncs.flat().filter((record) => record.audienceId === undefined));
  const merged: ModelRecord[] = [];
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn += 1) {
    const open = queues.filter((queue) => queue.length > 0);
    const next = open[(picks[turn % picks.length] ?? 0) % open.length]?.shift();
    if (next !== undefined) merged.push(next);
  }
  return merged;
}

const kills = fc.array(
  fc.record({
    /** The number of records that are appended before the kill. */
    after: fc.integer({ min: 0, max: 6 }),
    /**
     * The time from then until the kill. Null for a kill after all of them have been processed, and committed if
     * possible.
     */
    ms: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constant(null)),
    /** The time after the start of the next process, to which the group assigns the partition after 10 seconds. */
    startMs: fc.constantFrom(0, 11_000, 11_000),
    store: fc.constantFrom("kept", "kept", "lost", "other"),
  }),
  { maxLength: 5 },
);

/** The pieces of the room for arrivals: none, enough for one of two open syncs, and enough for both. */
const rooms = fc.constantFrom(0, 1, 8);

/** What happens between two topics of syncs, each of which is processed to its end. */
const renewals = fc.array(
  fc
    .integer({ min: 0, max: 12 })
    .map((after): Stop => ({ after, ms: null, startMs: 11_000, store: "kept", isAnew: true })),
  { minLength: 1, maxLength: 4 },
);

interface Stop {
  readonly after: number;
  readonly ms: number | null;
  readonly startMs: number;
  readonly store: string;
  /** True if the topic of syncs is deleted and recreated before the next start. */
  readonly isAnew?: boolean;
}

interface Plan {
  readonly records: readonly ModelRecord[];
  readonly stops: readonly Stop[];
  readonly seed: number;
  readonly room: number;
}

interface Ran {
  readonly world: AudienceWorld;
  /** The keys in the store of the last process. */
  readonly keys: readonly string[];
}

async function run({ records, stops, seed, room }: Plan): Promise<Ran> {
  const world = new AudienceWorld({ seed, defaults: APPROVAL, arrivalPieces: room });
  const machines = [new MemoryStores(), new MemoryStores()];
  let machine = 0;
  let process = await world.start(machines[machine]);
  const waiting = records.slice();
  for (const { after, ms, startMs, store, isAnew = false } of stops) {
    for (const record of waiting.splice(0, after))
      world.append({ ...record, audienceName: record.audienceId ?? "" }, 0);
    if (ms === null) await world.settle();
    else await world.clock.advance(ms);
    process.kill();
    if (isAnew) await world.makeSyncsAnew();
    if (store === "lost") machines[machine] = new MemoryStores();
    if (store === "other") machine = 1 - machine;
    process = await world.start(machines[machine]);
    await world.clock.advance(startMs);
  }
  for (const record of waiting)
    world.append({ ...record, audienceName: record.audienceId ?? "" }, 0);
  await world.settle();
  await process.close();
  expect(process.failures).toEqual([]);
  const keys = process.stores.store(0).entries();
  return { world, keys: keys.map(([key]) => key) };
}

function modelOf(records: readonly ModelRecord[]): AudienceModel {
  const model = new AudienceModel(APPROVAL);
  for (const [offset, record] of records.entries()) model.apply(record, offset);
  return model;
}

interface Reported {
  readonly userId: string;
  readonly trait: string;
  readonly value: unknown;
}

function add(reported: Record<string, string[]>, { userId, trait, value }: Reported): void {
  const key = `${userId} ${trait}`;
  reported[key] = [...(reported[key] ?? []), `${key}=${JSON.stringify(value)}`];
}

/** Returns the values that were sent for each user and trait, without repeated calls. */
function reportedTo(world: AudienceWorld): Record<string, string[]> {
  const seen = new Set<string>();
  const reported: Record<string, string[]> = {};
  for (const { userId, traits, messageId } of world.calls()) {
    if (seen.has(messageId)) continue;
    seen.add(messageId);
    for (const [trait, value] of Object.entries(traits)) {
      add(reported, { userId, trait, value });
    }
  }
  return reported;
}

function expectedOf(model: AudienceModel): Record<string, string[]> {
  const reported: Record<string, string[]> = {};
  const seen = new Set<string>();
  for (const { audienceId: trait, userId, value, by } of model.calls) {
    // A user who is forgotten in the middle of a sync, and is listed again by it, gets the same message ID.
    const id = JSON.stringify([trait, userId, value, by]);
    if (seen.has(id)) continue;
    seen.add(id);
    add(reported, { userId, trait, value });
  }
  return reported;
}

/** Returns the last value that was sent for each user and trait. */
function lastReported(world: AudienceWorld): Map<string, string> {
  return new Map(
    world.calls().flatMap(({ userId, traits }) =>
      Object.entries(traits).map(([trait, value]) => {
        return [`${userId} ${trait}`, JSON.stringify(value)] as const;
      }),
    ),
  );
}

test("without a crash, exactly the model's calls are made, once each", async () => {
  await fc.assert(
    fc.asyncProperty(log, fc.nat(), rooms, async (records, seed, room) => {
      const { world } = await run({ records, stops: [], seed, room });
      const model = modelOf(records);
      expect(reportedTo(world)).toEqual(expectedOf(model));
      expect(world.calls()).toHaveLength(model.calls.length);
    }),
    { numRuns: RUNS },
  );
});

test("with kills, lost stores and other machines, the same but for repeats of the same message id", async () => {
  await fc.assert(
    fc.asyncProperty(log, kills, fc.nat(), rooms, async (records, stops, seed, room) => {
      const { world } = await run({ records, stops, seed, room });
      const model = modelOf(records);
      const expected = expectedOf(model);
      expect(reportedTo(world)).toEqual(expected);
      const last = Object.entries(expected).map(([key, list]) => [key, list.at(-1)]);
      const reported = [...lastReported(world)].map(([key, value]) => [key, `${key}=${value}`]);
      expect(Object.fromEntries(reported)).toEqual(Object.fromEntries(last));
    }),
    { numRuns: RUNS },
  );
});

test("with topics of syncs that are deleted and made again, exactly the model's calls are made", async () => {
  await fc.assert(
    fc.asyncProperty(log, renewals, fc.nat(), rooms, async (records, stops, seed, room) => {
      const { world } = await run({ records, stops, seed, room });
      const model = modelOf(records);
      expect(reportedTo(world)).toEqual(expectedOf(model));
      expect(world.calls()).toHaveLength(model.calls.length);
    }),
    { numRuns: RUNS },
  );
});

/** Complete syncs of one audience, with kills in the middle. */
const complete = fc.record({
  sets: fc.array(fc.subarray(MANY), { minLength: 2, maxLength: 5 }),
  size: fc.integer({ min: 1, max: 4 }),
  stops: fc.array(
    fc.record({
      after: fc.integer({ min: 1, max: 12 }),
      ms: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constant(null), fc.constant(null)),
      startMs: fc.constant(11_000),
      store: fc.constantFrom("kept", "kept", "kept", "lost", "other"),
    }),
    { maxLength: 6 },
  ),
});

test("of syncs that follow each other, those who entered and left are reported, whatever is killed", async () => {
  await fc.assert(
    fc.asyncProperty(complete, fc.nat(), rooms, async ({ sets, size, stops }, seed, room) => {
      const records = sets.flatMap((all, index) => {
        const sync = { audienceId: "a", syncId: `s${index}` };
        const members = pieces("a", sync.syncId, all, size);
        const end = { type: "end", ...sync, count: all.length, force: true };
        return [{ type: "begin", ...sync }, ...members, end];
      });
      const { world, keys } = await run({ records, stops, seed, room });
      const expected: Record<string, string[]> = {};
      for (const [index, now] of sets.entries()) {
        const before = sets[index - 1] ?? [];
        const reportMember = (userId: string, value: boolean) =>
          add(expected, { userId, trait: "a", value });
        for (const userId of now) if (!before.includes(userId)) reportMember(userId, true);
        for (const userId of before) if (!now.includes(userId)) reportMember(userId, false);
      }
      expect(reportedTo(world)).toEqual(expected);
      // No arrivals of syncs that have ended are left.
      expect(keys.filter((key) => key.startsWith("b"))).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});
