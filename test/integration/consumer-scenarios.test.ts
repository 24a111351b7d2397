// Scenarios of Kafka's system tests with our consumer. `npm run test:scenarios` runs all, also with other clients.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalCluster, startCluster } from "../../tools/kafka/cluster.ts";
import { OURS, runScenario } from "../chaos/consumer-scenarios.ts";
import { JAVA } from "../support/kit/java.ts";

let cluster: LocalCluster;
beforeAll(async () => {
  if (JAVA !== null) cluster = await startCluster();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const NONE = { neverSeen: 0, broken: new Map() };

test.skipIf(JAVA === null).each([
  ["rolling bounce", { ...NONE, seenTwice: 0 }],
  ["commit after revocation", NONE],
  ["broker failure", { ...NONE, seenTwice: 0 }],
])("%s breaks no law (needs Java)", async (scenario, expected) => {
  expect(await runScenario(cluster, OURS, scenario)).toMatchObject(expected);
});
