/** The program on three separate brokers, with two destinations. The topic of one destination is on a single broker. */

import { expect } from "vitest";

import type { Kafka } from "../../../src/kafka/port.ts";
import {
  type ClusterBroker,
  type LocalCluster,
  startCluster,
} from "../../../tools/kafka/cluster.ts";
import { startReceiver } from "../kit/receiver.ts";
import { programWorld, type RunningProgram } from "../servers/program.ts";
import { testKafka } from "./test-kafka.ts";

const PREFIX = "three.";
export const CALLS = `${PREFIX}calls`;
export const NEAR = `${PREFIX}deliveries.near`;
export const LONELY = `${PREFIX}deliveries.lonely`;
export const GROUP = `${PREFIX}route`;
const UNTIL = { timeout: 90_000, interval: 50 };

export interface ProgramOnCluster extends AsyncDisposable {
  readonly cluster: LocalCluster;
  readonly program: RunningProgram;
  readonly kafka: Kafka;
  /** Publishes calls. Resolves with the IDs when the brokers have the calls. */
  publish(count: number): Promise<readonly string[]>;
  /** How often each call arrived at `/near` or `/lonely`. */
  arrived(path: string): ReadonlyMap<string, number>;
  untilArrived(path: string, ids: readonly string[]): Promise<void>;
  leadersOf(topic: string): Promise<readonly number[]>;
}

export async function programOnCluster(): Promise<ProgramOnCluster> {
  await using started = new AsyncDisposableStack();
  const [cluster, receiver] = await Promise.all([startCluster(), startReceiver()]);
  started.use(cluster);
  started.use(receiver);
  // The topic has only one replica, on the first broker.
  await cluster.look.create(LONELY, [[1], [1], [1]]);
  const kafka = testKafka({ brokers: cluster.brokers });
  started.defer(() => kafka.close());
  const world = started.use(programWorld(clusterConfig(cluster.brokers, receiver.port)));
  const program = world.start();
  await program.logged("ready");
  let sent = 0;
  const publish = async (count: number) => {
    const ids = Array.from({ length: count }, () => {
      sent += 1;
      return `m${sent}`;
    });
    await send(kafka, ids);
    return ids;
  };
  const arrived = (path: string) => {
    const counts = new Map<string, number>();
    for (const id of receiver.ids(path)) {
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  const kept = started.move();
  return {
    ...{ cluster, program, kafka, publish, arrived },
    untilArrived: async (path, ids) => {
      const missing = () => ids.filter((id) => !arrived(path).has(id));
      await expect.poll(missing, UNTIL).toEqual([]);
    },
    leadersOf: async (topic) => (await cluster.look.partitions(topic)).map(({ leader }) => leader),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export function brokerOf(cluster: LocalCluster, id: number): ClusterBroker {
  const found = cluster.nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error(`there is no broker ${id}`);
  return found;
}

export function clusterConfig(brokers: readonly string[], port: number, prefix = PREFIX): string {
  const destination = (id: string) =>
    `{ id: ${id}, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${port}/${id}" }] }`;
  return `
kafka:
  brokers: ${JSON.stringify(brokers)}
  topicPrefix: ${prefix}
  partitions: 3
  sessionTimeout: 6s
  startTimeout: 5m
sources: [{ id: web, writeKey: k, destinations: [near, lonely] }]
defaultSource: web
destinations:
  - ${destination("near")}
  - ${destination("lonely")}
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s, 2s] }
admin: { host: 127.0.0.1, port: 0 }
`;
}

async function send(kafka: Kafka, ids: readonly string[]): Promise<void> {
  const records = ids.map((messageId) => {
    const call = { type: "track", messageId, userId: messageId, event: "Order Completed" };
    const value = Buffer.from(JSON.stringify(call));
    return { topic: CALLS, key: Buffer.from(messageId), value, headers: [] };
  });
  expect(await kafka.producer().send(records)).toEqual([]);
}
