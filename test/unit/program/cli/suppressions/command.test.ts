// The user IDs that `switchyard suppressions add` reads from a file, and what it reports if it cannot write all of them.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { WrongUsage } from "../../../../../src/base/words/wrong-usage.ts";
import type { OutgoingRecord } from "../../../../../src/domain/record.ts";
import { idsOf, writeEach } from "../../../../../src/program/cli/suppressions/command.ts";
import { suppressionOf } from "../../../../support/build/suppressions.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-suppressions-"));
const file = join(folder, "users.txt");
afterAll(() => rmSync(folder, { recursive: true }));

/** More than is read at once. */
const MANY = Array.from({ length: 60_000 }, (_, at) => `user-${at}\n`).join("");

function add(text: string, onSend: (stop: AbortController) => void = () => undefined) {
  writeFileSync(file, text);
  const stop = new AbortController();
  const written: string[] = [];
  const producer = {
    send: async (records: readonly OutgoingRecord[]) => {
      onSend(stop);
      written.push(...records.map(({ key }) => `${key}`));
      return [];
    },
  };
  const ids = idsOf([], file, fakeShell(), stop.signal);
  const outcome = writeEach(producer, ids, (userId) => [suppressionOf(userId)]).catch(
    (thrown: unknown) => thrown,
  );
  return { outcome, written };
}

test("a byte order mark at the start of the file is not part of the first user ID", async () => {
  const { outcome, written } = add("\ufeffu1\r\nu2\n");
  expect(await outcome).toBe(2);
  expect(written).toEqual(["u1", "u2"]);
});

test("a bad line among the first ones is wrong usage, and nothing is written", async () => {
  const { outcome, written } = add("u1\nu\ufffd\n");
  expect(await outcome).toBeInstanceOf(WrongUsage);
  expect(written).toEqual([]);
});

test("a later bad line fails the command, which reports how many users were written", async () => {
  const { outcome, written } = add(`${MANY}u\ufffd\n`);
  const error = await outcome;
  expect(error).not.toBeInstanceOf(WrongUsage);
  expect(written.length).toBeGreaterThan(1_000);
  const count = written.length.toLocaleString("en");
  expect(`${error}`).toBe(
    `Error: line 60001 of ${file} is not a user ID. (the first ${count} users had been written before that)`,
  );
});

test("so does a send that fails", async () => {
  let sends = 0;
  const { outcome, written } = add(MANY, () => {
    sends += 1;
    if (sends === 2) throw new Error("Kafka is gone");
  });
  expect(`${await outcome}`).toMatch(/^Error: Kafka is gone \(the first [\d,]+ users had been/);
  expect(written.length).toBeGreaterThan(1_000);
  expect(written.length).toBeLessThan(60_000);
});

test("an interruption ends the reading of the file", async () => {
  const { outcome, written } = add(MANY, (stop) => stop.abort());
  expect(`${await outcome}`).toMatch(/^Error: interrupted while reading the file \(the first/);
  expect(written.length).toBeLessThan(60_000);
});
