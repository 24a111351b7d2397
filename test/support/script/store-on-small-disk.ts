/**
 * Uses a store on a separate disk, in separate namespaces. The disk is full or read-only, or its files are truncated or
 * overwritten. Prints a line for each operation: `fine`, or the failure.
 *
 * Arguments: the directory at which to mount the disk, and the fault.
 */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../../src/domain/store-error.ts";
import { openLevelStore } from "../../../src/router/audience/store/level-store.ts";
import { fillDisk, freeDisk } from "./small-disk.ts";

const [disk = "", wrong = ""] = process.argv.slice(2);
const store = join(disk, "0");
const entries = Array.from(
  { length: 2_000 },
  (_, index) => [`k${index}`, "x".repeat(100)] as const,
);

async function printResult(work: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    process.stdout.write(`${work}: fine\n`);
  } catch (error) {
    const failure = error instanceof StoreError ? error.failure : String(error);
    process.stdout.write(`${work}: ${failure}\n`);
  }
}

const mount = (...options: readonly string[]) => execFileSync("mount", [...options, disk]);

const openAndClose = async () => {
  const level = await openLevelStore(store);
  await level.close();
};

/** Closes the store so that all data is in tables, and none in the log. */
async function closed(): Promise<void> {
  const level = await openLevelStore(store);
  await level.write(entries);
  await level.compact("\u0001", "\u007f");
  await level.close();
}

async function read(): Promise<void> {
  const level = await openLevelStore(store);
  await printResult("getMany", () => level.getMany(["k0", "k1000", "k1999"]));
  await printResult("pieces", async () => {
    for await (const _ of level.pieces("a", "z"));
  });
  await level.close();
}

const tables = () => readdirSync(store).filter((name) => name.endsWith(".ldb"));

mount("-t", "tmpfs", "-o", "size=6m", "tmpfs");
await closed();
if (wrong === "full") {
  const level = await openLevelStore(store);
  fillDisk(disk);
  for (const work of ["write", "again"]) await printResult(work, () => level.write(entries));
  await printResult("close", () => level.close());
  await printResult("open", openAndClose);
  freeDisk(disk);
  await printResult("open", openAndClose);
  await read();
}
if (wrong === "read-only") {
  mount("-o", "remount,ro");
  await printResult("open", openAndClose);
  mount("-o", "remount,rw");
  await printResult("open", openAndClose);
}
if (wrong === "cut") {
  for (const table of tables()) truncateSync(join(store, table), 3_000);
  await read();
}
if (wrong === "overwritten") {
  for (const table of tables()) {
    const file = openSync(join(store, table), "r+");
    writeSync(file, Buffer.alloc(500, 7), 0, 500, 100);
    closeSync(file);
  }
  await read();
}
