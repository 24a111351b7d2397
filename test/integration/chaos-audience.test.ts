// A short run of the chaos suite for audiences: the real program is killed, moved, and loses its disk.

import { expect, test } from "vitest";

import { runAudienceChaos } from "../chaos/audience-chaos.ts";

test("through kills, a lost disk and a rebalance every user gets exactly the calls that the syncs require", async () => {
  const said: string[] = [];
  const result = await runAudienceChaos({
    seed: 1,
    plan: [["kill"], ["lose-disk", "join"]],
    say: (line) => said.push(line),
  });
  expect(result.broken, [...said, result.ledger].join("\n")).toEqual([]);
});
