// A short run of the chaos suite: the real program is killed, frozen and disconnected, and the broker is killed.

import { expect, test } from "vitest";

import { runChaos } from "../chaos/chaos.ts";

test("through a kill, a graceful stop and a broker's death no delivery is lost, early or repeated without cause", async () => {
  const said: string[] = [];
  const result = await runChaos({
    seed: 1,
    plan: [["slow-stop"], ["slow-kill", "broker"]],
    say: (line) => said.push(line),
  });
  expect(result.broken, [...said, result.ledger].join("\n")).toEqual([]);
});
