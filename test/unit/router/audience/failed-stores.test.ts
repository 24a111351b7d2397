// A local store fails: only the audience stage stops, reports this, and restarts until the store works.

import { expect, test } from "vitest";
import { StoreError } from "../../../../src/domain/store-error.ts";
import type { OrderedStore } from "../../../../src/router/audience/store/ordered-store.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

type StoreWork = "open" | "remove" | "getMany" | "pieces" | "write" | "close";

/** Stores in memory that fail on request: a full disk, a corrupt file. */
class FailingStores extends MemoryStores {
  /** Returns the error for an operation; null if the operation succeeds. */
  failing: (work: StoreWork) => Error | null = () => null;
  /** Operations that were started, including failed ones. */
  readonly works: StoreWork[] = [];

  override async open(partition: number): Promise<OrderedStore> {
    this.#begin("open");
    const store = await super.open(partition);
    const begin = (work: StoreWork) => this.#begin(work);
    return {
      getMany: async (keys) => {
        begin("getMany");
        return store.getMany(keys);
      },
      pieces: async function* (from, to) {
        begin("pieces");
        yield* store.pieces(from, to);
      },
      write: async (changes) => {
        begin("write");
        await store.write(changes);
      },
      compact: (from, to) => store.compact(from, to),
      close: async () => {
        await store.close();
        begin("close");
      },
    };
  }

  override async remove(partition: number): Promise<void> {
    this.#begin("remove");
    await super.remove(partition);
  }

  #begin(work: StoreWork): void {
    this.works.push(work);
    const error = this.failing(work);
    if (error !== null) throw error;
  }
}

const FULL = new StoreError("the store in s/0 cannot be written: No space left", "unavailable");
const CORRUPT = new StoreError("the store in s/0 cannot be read: bad block", "corrupt");
const GAUGE = "switchyard_audience_state_stores_unavailable";

async function startWorld(partitions = 1) {
  const world = new AudienceWorld({ partitions });
  const stores = new FailingStores();
  const process = await world.start(stores);
  world.sync("a1", "s1", ["u1", "u2", "u3"]);
  await world.settle();
  const restarts = () => process.lines.filter(({ msg }) => msg === "stage.restarting");
  const restarted = async (count: number) => world.until(() => restarts().length >= count);
  return { world, stores, process, restarts, restarted };
}

test("a full disk stops the stage alone: it is reported, and started again later each time", async () => {
  const { world, stores, process, restarts, restarted } = await startWorld();
  expect(await process.metrics.text()).toContain(`${GAUGE} 0\n`);
  stores.failing = (work) => (work === "write" || work === "open" ? FULL : null);
  world.sync("a1", "s2", ["u2", "u3", "u4"]);
  await restarted(1);
  expect(process.stage.healthProblems()).toEqual([`restarting: ${FULL.message}`]);
  expect(await process.metrics.text()).toContain(`${GAUGE} 1\n`);
  await restarted(4);
  const retryAt = restarts().map((line) => Date.parse(String(line.retryAt)));
  const waits = retryAt.slice(1, 4).map((atMs, index) => atMs - (retryAt[index] ?? 0));
  expect(restarts()[0]).toMatchObject({ level: "error", stage: "audience", error: FULL.message });
  for (const [index, leastMs] of [2_000, 4_000, 8_000].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(leastMs);
  }
  expect(await process.metrics.text()).toContain(`${GAUGE} 1\n`);
  expect(await process.metrics.text()).toMatch(
    /switchyard_consumer_restarts_total\{stage="audience",destination=""\} [4-9]/,
  );

  stores.failing = () => null;
  await world.settle();
  expect(process.stage.healthProblems()).toEqual([]);
  expect(await process.metrics.text()).toContain(`${GAUGE} 0\n`);
  // A call may be repeated, but only with the same message ID.
  const reported = new Map(world.calls().map(({ messageId, userId }) => [messageId, userId]));
  expect([...reported.values()]).toEqual(["u1", "u2", "u3", "u4", "u1"]);
  expect(process.lines.filter(({ msg }) => msg === "audience.store.rebuilding")).toEqual([]);
  expect(process.failures).toEqual([]);
  await process.close();
});

test.each<readonly StoreWork[]>([
  ["open"],
  ["getMany"],
  ["pieces"],
  ["write"],
  ["open", "remove"],
  ["write", "close"],
])(
  "whatever cannot be done (%s, %s), the program continues, and the syncs are applied once it can",
  async (...works) => {
    const { world, stores, process, restarted } = await startWorld();
    // A restart also opens and reads the store.
    const [first = "write"] = works;
    stores.failing = (work) => (works.includes(work) ? FULL : null);
    if (first === "open") {
      stores.failing = (work) => (work === "write" || works.includes(work) ? FULL : null);
    }
    world.sync("a1", "s2", ["u3", "u4"]);
    await restarted(3);
    expect(process.failures).toEqual([]);
    stores.failing = () => null;
    await world.settle();
    const reported = new Map(world.calls().map(({ messageId, userId }) => [messageId, userId]));
    expect([...reported.values()]).toEqual(["u1", "u2", "u3", "u4", "u1", "u2"]);
    expect(process.stage.healthProblems()).toEqual([]);
    expect(process.failures).toEqual([]);
    await process.close();
  },
);

test("a store that turns out corrupt while it is used is rebuilt from the changelog", async () => {
  const { world, stores, process, restarted } = await startWorld();
  let isCorrupt = true;
  stores.failing = (work) => {
    if (work === "remove") isCorrupt = false;
    return isCorrupt && work === "write" ? CORRUPT : null;
  };
  world.sync("a1", "s2", ["u3", "u4"]);
  await restarted(1);
  await world.settle();
  const reported = new Map(world.calls().map(({ messageId, userId }) => [messageId, userId]));
  expect([...reported.values()]).toEqual(["u1", "u2", "u3", "u4", "u1", "u2"]);
  const rebuilt = process.lines.filter(({ msg }) => msg === "audience.store.rebuilding");
  expect(rebuilt).toMatchObject([{ storeState: "corrupt", partition: 0 }]);
  expect(process.failures).toEqual([]);
  await process.close();
});

test("a store that cannot be used for now is not removed", async () => {
  const { world, stores, process, restarted } = await startWorld();
  stores.failing = (work) => (work === "write" || work === "open" ? FULL : null);
  const before = stores.works.filter((work) => work === "remove").length;
  world.sync("a1", "s2", ["u4"]);
  await restarted(4);
  expect(stores.works.filter((work) => work === "remove")).toHaveLength(before);
  await process.close();
});

test("a process that stops while its store is unavailable ends in order", async () => {
  const { world, stores, process, restarted } = await startWorld();
  stores.failing = (work) => (work === "remove" ? null : FULL);
  world.sync("a1", "s2", ["u4"]);
  await restarted(2);
  await process.close();
  expect(process.failures).toEqual([]);
});

test("partitions of a process that another one took over are no problem of it", async () => {
  const { world, stores, process, restarted } = await startWorld(2);
  stores.failing = (work) => (work === "write" || work === "open" ? FULL : null);
  world.sync("a1", "s2", ["u3", "u4"]);
  await restarted(1);
  const other = await world.start();
  await world.settle();
  expect(new Set(world.calls().map(({ messageId }) => messageId)).size).toBe(6);
  expect(process.failures).toEqual([]);
  stores.failing = () => null;
  await process.close();
  await other.close();
});

test("any other failure ends the program as before", async () => {
  const { world, stores, process } = await startWorld();
  const bug = new Error("a bug");
  stores.failing = (work) => (work === "write" ? bug : null);
  world.sync("a1", "s2", ["u4"]);
  await world.until(() => process.failures.length > 0);
  expect(process.failures).toEqual([bug]);
  await process.close();
});
