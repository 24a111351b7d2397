// The lock between processes that start a Kafka at the same time.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { holdLock } from "../../tools/kafka/lock.ts";

const never = new AbortController().signal;
const PID_MAX = 4_194_304; // no process has it

let path = "";
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), "switchyard-lock-")), "lock");
});
afterEach(() => rmSync(join(path, ".."), { recursive: true }));

test("the second waits, says for whom, and gets it when the first gives it back", async () => {
  const first = await holdLock(path, never, () => undefined);
  const waitedFor = Promise.withResolvers<number>();
  const second = holdLock(path, never, waitedFor.resolve);
  expect(await waitedFor.promise).toBe(process.pid);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
});

test("a lock whose owner is gone is taken over", async () => {
  writeFileSync(path, String(PID_MAX));
  using _ = await holdLock(path, never, () => expect.unreachable());
});

test("waiting ends when the signal aborts", async () => {
  using _ = await holdLock(path, never, () => undefined);
  const waiting = new AbortController();
  const second = holdLock(path, waiting.signal, () => waiting.abort(new Error("enough")));
  await expect(second).rejects.toThrow();
});
