/** The program on three separate brokers, with two destinations. The topic of one destination is on a single broker. */

import { expect } from "vitest";

import type { ClusterBroker, LocalCluster } from "../../../tools/kafka/cluster.ts";
import type { Lifetime } from "../kit/lifetime.ts";
import { type Sections, useProgram } from "../kit/program.ts";
import { useReceiver } from "../kit/receiver.ts";
import { testKafka } from "./test-kafka.ts";

const PREFIX = "three.";
export const CALLS = `${PREFIX}calls`;
export const NEAR = `${PREFIX}deliveries.near`;
export const LONELY = `${PREFIX}deliveries.lonely`;
export const GROUP = `${PREFIX}route`;

export type ProgramOnCluster = Awaited<ReturnType<typeof programOnCluster>>;

export async function programOnCluster(cluster: LocalCluster, lifetime: Lifetime) {
  const receiver = await useReceiver(() => 200, lifetime);
  // The topic has only one replica, on the first broker.
  await cluster.look.create(LONELY, [[1], [1], [1]]);
  const kafka = testKafka({ brokers: cluster.brokers });
  lifetime(() => kafka.close());
  const program = await useProgram(clusterConfig(cluster.brokers, receiver.url), lifetime).ready();
  let sent = 0;
  /** Publishes calls. Resolves with the IDs when the brokers have the calls. */
  const publish = async (count: number) => {
    const ids = Array.from({ length: count }, () => {
      sent += 1;
      return `m${sent}`;
    });
    const records = ids.map((messageId) => {
      const call = { type: "track", messageId, userId: messageId, event: "Order Completed" };
      const value = Buffer.from(JSON.stringify(call));
      return { topic: CALLS, key: Buffer.from(messageId), value, headers: [] };
    });
    expect(await kafka.producer().send(records)).toEqual([]);
    return ids;
  };
  /** How often each call arrived at `/near` or `/lonely`. */
  const arrived = (path: string): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const id of receiver.ids(path)) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  };
  return {
    ...{ program, kafka, publish, arrived },
    untilArrived: async (path: string, ids: readonly string[]) => {
      const missing = () => ids.filter((id) => !arrived(path).has(id));
      await expect.poll(missing).toEqual([]);
    },
  };
}

export function brokerOf(cluster: LocalCluster, id: number): ClusterBroker {
  const found = cluster.nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error(`there is no broker ${id}`);
  return found;
}

export function clusterConfig(
  brokers: readonly string[],
  hooks: string,
  topicPrefix = PREFIX,
): Sections {
  const kafka = { brokers, topicPrefix, partitions: 3, replicationFactor: undefined };
  return {
    kafka: { ...kafka, sessionTimeout: "6s", startTimeout: "5m" },
    destinations: { near: `${hooks}/near`, lonely: `${hooks}/lonely` },
  };
}
