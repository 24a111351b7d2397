// A start on a cluster whose brokers are mostly down.

import { expect, test } from "vitest";
import { startCluster } from "../../tools/kafka/cluster.ts";
import { JAVA } from "../support/kit/java.ts";
import { programWorld } from "../support/servers/program.ts";
import { brokerOf, clusterConfig } from "../support/worlds/program-on-cluster.ts";

// If two of three controllers are down, no topic can be created.
test.skipIf(JAVA === null)(
  "a start while two brokers are unreachable reports it, and continues when they are back (needs Java)",
  async () => {
    await using cluster = await startCluster();
    const broker = (id: number) => brokerOf(cluster, id);
    await Promise.all([broker(2).kill(), broker(3).kill()]);
    const address = cluster.brokers[0] ?? "";
    await using late = programWorld(clusterConfig([address], 9, "late."));
    const starting = late.start(["--stages", "route,deliver,delay"]);
    await starting.logged("kafka.waiting");
    await Promise.all([broker(2).start(), broker(3).start()]);
    await starting.logged("ready");
    starting.child.kill("SIGTERM");
    expect(await starting.ended).toBe(0);
  },
);
