// The program on three brokers with problems: too few replicas are in sync, or a partition has no leader.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { JAVA } from "../support/kit/java.ts";

import {
  brokerOf,
  CALLS,
  LONELY,
  NEAR,
  type ProgramOnCluster,
  programOnCluster,
} from "../support/worlds/program-on-cluster.ts";

let on: ProgramOnCluster;
beforeAll(async () => {
  if (JAVA !== null) on = await programOnCluster();
});
afterAll(() => on?.[Symbol.asyncDispose]());
const broker = (id: number) => brokerOf(on.cluster, id);

describe.skipIf(JAVA === null)("three brokers with problems (need Java)", () => {
  test("too few in-sync replicas: deliveries are rerouted around that topic, writes to calls wait, and both continue", async () => {
    await on.kafka.admin.alterConfig(NEAR, { "min.insync.replicas": "3" });
    await broker(3).kill();
    const inSync = async () =>
      (await on.cluster.look.partitions(NEAR)).map((partition) => partition.inSync.length);
    await expect.poll(inSync).toEqual([2, 2, 2]);
    const ids = await on.publish(30);
    await on.untilArrived("/lonely", ids);
    expect(ids.filter((id) => on.arrived("/near").has(id))).toEqual([]);
    await expect.poll(() => awaitingRetry()).toBeGreaterThan(0);

    await on.kafka.admin.alterConfig(CALLS, { "min.insync.replicas": "3" });
    const waiting = on.publish(10);
    await broker(3).start();
    await on.untilArrived("/near", [...ids, ...(await waiting)]);
    await on.cluster.look.untilInSync([NEAR, CALLS]);
    for (const topic of [NEAR, CALLS]) {
      await on.kafka.admin.alterConfig(topic, { "min.insync.replicas": "2" });
    }
  });

  test("partitions without a leader: the other destination continues, and their deliveries arrive afterwards", async () => {
    await broker(1).kill();
    await expect.poll(() => on.leadersOf(LONELY)).toEqual([-1, -1, -1]);
    const ids = await on.publish(30);
    await on.untilArrived("/near", ids);
    expect(ids.filter((id) => on.arrived("/lonely").has(id))).toEqual([]);
    // For example, a destination is added now.
    const added = "three.added";
    await on.kafka.admin.create([{ name: added, partitions: 1, replicationFactor: 2, config: {} }]);
    await expect.poll(() => on.leadersOf(added)).toEqual([expect.toBeOneOf([2, 3])]);
    await on.kafka.admin.deleteTopics([added]);
    await broker(1).start();
    await on.untilArrived("/lonely", ids);
  });
});

/** Returns the deliveries that were rerouted, and returned later. */
async function awaitingRetry(): Promise<number> {
  const ends = await on.kafka.admin.offsets("three.delays.1s");
  return ends.reduce((sum, { end }) => sum + end, 0);
}
