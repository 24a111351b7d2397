// The decision which audience has an ID and a key.

import { expect, test } from "vitest";

import { Claims, conflictOf } from "../../../../src/router/audience/claims.ts";

const claim = (id: string, key: string, partition: number, offset: number | null = null) => ({
  id,
  name: id,
  key,
  partition,
  first: 0,
  claim: offset,
  members: 0,
  openSyncId: null,
  last: null,
  awaitingApproval: null,
});

test("the first claim of an id or a key wins, also when compaction has left only later records", () => {
  const claims = new Claims();
  claims.apply("a", claim("a", "k", 0), 0);
  claims.apply("b", claim("b", "k", 1), 1);
  claims.apply("a", claim("a", "k", 2), 2);
  expect(claims.all().map(({ id, partition }) => [id, partition])).toEqual([["a", 0]]);

  const compacted = new Claims();
  compacted.apply("b", claim("b", "k", 1), 1);
  compacted.apply("a", claim("a", "k", 0, 0), 3);
  expect(compacted.all().map(({ id }) => id)).toEqual(["a"]);
  expect(compacted.ownerOf("k")?.id).toBe("a");
});

test("the owner may rename its key, and what is freed can be claimed", () => {
  const claims = new Claims();
  claims.apply("a", claim("a", "k", 0), 0);
  claims.apply("a", claim("a", "l", 0), 1);
  expect([claims.ownerOf("k"), claims.of("a")?.claim]).toEqual([null, 0]);
  claims.apply("a", null, 2);
  claims.apply("b", claim("b", "l", 3), 3);
  expect(claims.ownerOf("l")?.id).toBe("b");
});

test.each([
  [{ id: "a", key: "k", partition: 0 }, null],
  [{ id: "a", key: "other", partition: 0 }, null],
  [{ id: "b", key: "other", partition: 1 }, null],
  [{ id: "a", key: "k", partition: 1 }, "also has records in partition 0"],
  [{ id: "b", key: "k", partition: 0 }, 'another audience has the key "k"'],
])("a claim of %j after a has k in partition 0: %s", (request, conflict) => {
  const claims = new Claims();
  claims.apply("a", claim("a", "k", 0), 0);
  const found = conflictOf(claims, request);
  if (conflict === null) expect(found).toBeNull();
  else expect(found).toContain(conflict);
});
