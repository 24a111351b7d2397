// A short run of the chaos suite: the real program is killed, frozen and disconnected, the broker is killed, and a forward
// proxy is down for a while.

import { expect, test } from "vitest";

import { runChaos } from "../chaos/chaos.ts";

test("through a kill, a graceful stop, a broker's death and a proxy's outage no delivery is lost, early or repeated without cause", async () => {
  const said: string[] = [];
  const result = await runChaos({
    seed: 1,
    plan: [["slow-stop"], ["slow-kill", "broker", "proxy"]],
    say: (line) => said.push(line),
  });
  expect(result.broken, [...said, result.ledger].join("\n")).toEqual([]);
});
