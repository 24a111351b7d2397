// One contract for the ordered store on disk and for its stand-in in memory for tests.

import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { openLevelStore } from "../../src/router/audience/store/level-store.ts";
import {
  type OrderedStore,
  type StoreEntry,
  StoreInUseError,
} from "../../src/router/audience/store/ordered-store.ts";
import { MemoryStore } from "../support/worlds/memory-stores.ts";

let directory: string;
let store: OrderedStore;

test("only the owner can read a store, whatever the permissions of an existing directory are", async () => {
  const parent = await mkdtemp(join(tmpdir(), "switchyard-store-"));
  onTestFinished(() => rm(parent, { recursive: true }));
  await mkdir(join(parent, "existing"), { mode: 0o755 });
  for (const name of ["existing", "new/and/deep"]) {
    await (await openLevelStore(join(parent, name))).close();
  }
  const modes = await Promise.all(
    ["existing", "new", "new/and", "new/and/deep"].map(async (name) => {
      return (await stat(join(parent, name))).mode & 0o777;
    }),
  );
  expect(modes).toEqual([0o700, 0o700, 0o700, 0o700]);
});

describe.each([
  ["on disk", () => openLevelStore(directory)],
  ["in memory", () => Promise.resolve(new MemoryStore())],
])("a store %s", (_name, open) => {
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "switchyard-store-"));
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });

  test("finds what was written last, in the order of the keys asked for", async () => {
    await store.write([
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ]);
    await store.write([
      ["b", null],
      ["c", "4"],
      ["c", "5"],
    ]);
    expect(await store.getMany(["c", "b", "a", "c", "?"])).toEqual([
      "5",
      undefined,
      "1",
      "5",
      undefined,
    ]);
    // The keys are looked up in order, forwards and backwards.
    for (const _ of ["there", "back"]) {
      expect(await store.getMany(["?", "a", "b", "c"])).toEqual([undefined, "1", undefined, "5"]);
    }
  });

  test("gives a range in the order of the keys' bytes, without its end", async () => {
    const keys = ["m/a", "m/é", "m/b", "m/\u{1f600}", "m/\uffee", "m/", "l", "n", "m0"];
    await store.write(keys.map((key) => [key, key]));
    const within = keys.filter((key) => key.startsWith("m/"));
    const byBytes = within.sort((one, other) =>
      Buffer.compare(Buffer.from(one), Buffer.from(other)),
    );
    expect(await all("m/", "m0")).toEqual(byBytes.map((key) => [key, key]));
    expect(await all("m/b", "m/é")).toEqual([["m/b", "m/b"]]);
    expect(await all("x", "y")).toEqual([]);
  });

  test("gives a range as it was when it was asked for, however much is changed meanwhile", async () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}`).sort();
    await store.write(keys.map((key) => [key, "before"]));
    const seen: StoreEntry[] = [];
    for await (const entries of store.pieces("k", "l")) {
      expect(entries).not.toEqual([]);
      if (seen.length === 0) await store.write(keys.map((key) => [key, null]));
      seen.push(...entries);
    }
    expect(seen).toEqual(keys.map((key) => [key, "before"]));
    expect(await all("k", "l")).toEqual([]);
  });

  test("can be closed by whoever has stopped in the middle of a range", async () => {
    await store.write(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, ""]));
    for await (const [first] of store.pieces("k", "l")) {
      expect(first).toEqual(["k0", ""]);
      break;
    }
    await store.close();
    await expect(store.getMany(["k0"])).rejects.toThrow();
  });

  test("holds the same after a compaction", async () => {
    await store.write([
      ["a", "1"],
      ["b", "2"],
    ]);
    await store.write([["a", null]]);
    await store.compact("\u0001", "\u007f");
    expect(await all("\u0000", "\u007f")).toEqual([["b", "2"]]);
  });
});

test("a store on disk is open once, and keeps what was written", async () => {
  const place = await mkdtemp(join(tmpdir(), "switchyard-store-"));
  const first = await openLevelStore(place);
  await first.write([["a", "1"]]);
  await expect(openLevelStore(place)).rejects.toThrow(StoreInUseError);
  await first.close();
  const again = await openLevelStore(place);
  expect(await again.getMany(["a"])).toEqual(["1"]);
  await again.close();
  await rm(place, { recursive: true });
});

async function all(from: string, to: string): Promise<readonly StoreEntry[]> {
  const entries: StoreEntry[] = [];
  for await (const piece of store.pieces(from, to)) entries.push(...piece);
  return entries;
}
