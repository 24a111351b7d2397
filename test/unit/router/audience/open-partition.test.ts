// A process takes over a partition while the previous owner, or the next one, still writes.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { memberPrefix } from "../../../../src/router/audience/keys.ts";
import { type OpenDeps, openPartition } from "../../../../src/router/audience/open-partition.ts";
import { MemoryStore } from "../../../support/worlds/memory-stores.ts";

/** Creates a changelog to which `late` is added while it is read for the first time. */
function world(early: readonly string[], late: readonly string[]) {
  const log: IncomingRecord[] = [];
  const append = (key: string) => {
    const at = { topic: "changelog", partition: 0, offset: log.length, timestampMs: 0 };
    log.push({ ...at, key: Buffer.from(key), value: Buffer.from("+"), headers: [] });
  };
  for (const key of early) append(key);
  const waiting = [...late];
  const store = new MemoryStore();
  const signed: string[] = [];
  const deps: OpenDeps = {
    at: { topic: "changelog", partition: 0 },
    store: {
      open: () => Promise.resolve(store.isOpen ? store : store.reopen()),
      remove: () => Promise.resolve(),
    },
    changelog: {
      end: () => Promise.resolve(log.length),
      read: async function* (from, to) {
        yield log.slice(from, to);
        for (const key of waiting.splice(0)) append(key);
      },
      sign: (key) => {
        append(key);
        signed.push(key);
        return Promise.resolve();
      },
    },
    ownership: { check: () => undefined, mustBeOurs: () => Promise.resolve() },
    events: { progressed: () => undefined, matched: () => undefined },
    newIdentity: () => "me",
    nowMs: () => 0,
  };
  return { deps, signed };
}

const member = (user: string) => memberPrefix(0) + user;

test("what is written to the changelog while it is read is read as well", async () => {
  const { deps, signed } = world([member("u1")], [member("u2"), member("u3")]);
  const state = await openPartition(deps);
  expect(await state.store.getMany(["u1", "u2", "u3"].map(member))).toEqual(["+.0", "+.1", "+.2"]);
  expect(state.counts(0).members).toBe(3);
  expect(signed).toHaveLength(1);
});

test("a partition that has gone to somebody else meanwhile is not signed", async () => {
  const { deps, signed } = world([member("u1")], []);
  const mustBeOurs = () => Promise.reject(new Error("gone"));
  const ownership = { ...deps.ownership, mustBeOurs };
  await expect(openPartition({ ...deps, ownership })).rejects.toThrow("gone");
  expect(signed).toEqual([]);
});
