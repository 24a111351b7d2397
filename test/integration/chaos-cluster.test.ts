// A short run of the chaos suite on three brokers: programs are replaced, leaders are elected, and a broker is killed.

import { expect, test } from "vitest";
import { runChaos } from "../chaos/chaos.ts";
import { JAVA } from "../support/kit/java.ts";

test.skipIf(JAVA === null)(
  "through a rolling restart, an election and a broker's death no delivery is lost, early or repeated without cause (needs Java)",
  async () => {
    const said: string[] = [];
    const result = await runChaos({
      seed: 2,
      brokers: 3,
      plan: [["roll", "election"], ["leaderless"]],
      say: (line) => said.push(line),
    });
    expect(result.broken, [...said, result.ledger].join("\n")).toEqual([]);
  },
);
