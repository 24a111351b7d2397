/**
 * `bench isolation-cluster`: `bench isolation` on three brokers, for a destination whose partitions lose their leader.
 * The only replica of its topic is on the third broker; all other topics have three replicas.
 *
 * In each run, the third broker is stopped gracefully, even if no destination fails in this run, because a destination
 * must not be blamed for the loss of a broker. Before that, the broker is restarted, so that it leads no other
 * partition.
 */

import { type ClusterBroker, startCluster } from "../tools/kafka/cluster.ts";
import { benchIsolation, type IsolationBench } from "./isolation.ts";
import type { Surroundings } from "./isolation-run.ts";
import { report } from "./workbench.ts";

const PARTITIONS = 3;

export async function benchIsolationCluster(
  bench: Omit<IsolationBench, "states">,
): Promise<string> {
  await using cluster = await startCluster({ log: report });
  const third = cluster.nodes.find(({ id }) => id === 3);
  if (third === undefined) throw new Error("there is no third broker");
  const prepare: Surroundings["prepare"] = async (health, { calls, sick }) => {
    report("  the third broker is restarted");
    await startAnew(third);
    await cluster.look.untilInSync([calls]);
    if (health === "leader") await cluster.look.create(sick, Array(PARTITIONS).fill([third.id]));
    report("  all copies are in sync");
  };
  const fall = async () => {
    report("  the third broker stops");
    await third.stop();
    report("  it has stopped");
  };
  return await benchIsolation(
    cluster.brokers.join(),
    { ...bench, states: ["healthy", "leader"] },
    { replicationFactor: 3, prepare, fall },
  );
}

/** After that, other brokers lead the partitions that it led. */
async function startAnew(broker: ClusterBroker): Promise<void> {
  await broker.stop();
  await broker.start();
}
