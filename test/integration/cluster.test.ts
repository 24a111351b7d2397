// The program on three brokers: leaders move, a broker is killed while calls are published, and the coordinator of a
// group restarts. cluster-outages.test.ts and cluster-start.test.ts have other cases. `npm run chaos -- cluster` does
// much more of this, for a longer time.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { JAVA } from "../support/kit/java.ts";

import {
  brokerOf,
  CALLS,
  GROUP,
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

describe.skipIf(JAVA === null)("three brokers (need Java)", () => {
  test("a leader dies while calls flow, and is elected again when it is back: all arrive, once", async () => {
    const before = await on.publish(50);
    const [leader = 0] = await on.leadersOf(CALLS);
    const flow = { isOver: false };
    const flowing = (async () => {
      const ids: string[] = [];
      while (!flow.isOver) {
        ids.push(...(await on.publish(5)));
        await sleep(20);
      }
      return ids;
    })();
    await on.untilArrived("/near", before);
    await broker(leader).kill();
    await expect.poll(() => on.leadersOf(CALLS)).not.toContain(leader);
    const meanwhile = await on.publish(20);
    await on.untilArrived("/near", meanwhile);
    await broker(leader).start();
    await on.cluster.look.untilInSync([CALLS, NEAR]);
    for (const topic of [CALLS, NEAR]) await on.cluster.look.electPreferred(topic);
    await expect.poll(() => on.leadersOf(CALLS)).toContain(leader);
    flow.isOver = true;
    const all = [...before, ...(await flowing), ...meanwhile, ...(await on.publish(20))];
    await on.untilArrived("/near", all);
    await on.untilArrived("/lonely", all);
    expect([...on.arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });

  // The groups keep their members and partitions, and commits go to the next coordinator.
  test("the broker that coordinates a group restarts in good order: all arrive, once", async () => {
    const coordinator = await on.cluster.look.coordinatorOf(GROUP);
    const before = await on.publish(50);
    await on.untilArrived("/near", before);
    const rejoined = on.program.lines.filter(
      ({ msg }) => msg === "kafka.consumer.restarting",
    ).length;
    await broker(coordinator).stop();
    const meanwhile = await on.publish(50);
    await on.untilArrived("/near", meanwhile);
    await broker(coordinator).start();
    await on.cluster.look.untilInSync([CALLS, NEAR, "__consumer_offsets"]);
    await on.cluster.look.electPreferred("__consumer_offsets");
    const after = await on.publish(50);
    await on.untilArrived("/near", after);
    const since = on.program.lines.filter(({ msg }) => msg === "kafka.consumer.restarting").length;
    expect(since).toBe(rejoined);
    expect([...on.arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });

  test("after all that it stops in good order", async () => {
    on.program.child.kill("SIGTERM");
    expect(await on.program.ended).toBe(0);
  });
});
