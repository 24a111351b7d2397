/**
 * Faults of a cluster of brokers, in addition to the faults of programs (`faults.ts`).
 *
 *   fault           does                                                 may repeat          may lose
 *   broker          SIGKILL of one broker; a restart later               before it, until    nothing
 *                                                                        all have rejoined
 *   leaderless      the same for longer, so that partitions of           the same            nothing
 *                   `lonely`, which have one replica, have no leader
 *   broker-freeze   SIGSTOP of one broker for a while, SIGCONT           the same            nothing
 *   broker-roll     each broker in turn gets SIGTERM, and starts again   the same            nothing
 *   roll            each program in turn gets SIGTERM, and starts again  nothing             nothing
 *   election        every partition returns to its first leader          nothing             nothing
 *   grow            a partition is added to a topic                      nothing             nothing
 *   topic-gone      the topic of `doomed` is deleted                     the same            its records
 *   retention       `doomed` is on hold, and most records in its         nothing             these records
 *                   queue are deleted
 *
 * Only one fault affects a broker at a time, because with two of three controllers gone, the cluster could make no
 * decisions.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { DestinationId } from "../../src/domain/ids.ts";
import type { LocalCluster } from "../../tools/kafka/cluster.ts";
import {
  expose,
  type FaultWorld,
  inject,
  isGraceful,
  REJOINED_MS,
  stopAndStart,
} from "./faults.ts";
import type { TopicReader } from "./read-topics.ts";
import { SESSION_TIMEOUT_MS, topics } from "./setup.ts";
import type { Loss } from "./violation.ts";

const PARTITIONS_MAX = 8;
/** Destinations whose order of deliveries is not checked, so their topics may get partitions. */
const MAY_GROW = ["flaky", "any", "every"] as DestinationId[];
export const LONELY = "lonely" as DestinationId;
const DOOMED = "doomed" as DestinationId;
const OFFSETS_TOPIC = "__consumer_offsets";

export interface ClusterWorld extends FaultWorld {
  readonly cluster: LocalCluster;
  readonly reader: TopicReader;
  readonly losses: Loss[];
  /** Sets whether the endpoint of `doomed` fails all requests. */
  readonly setDoomed: (isSick: boolean) => void;
  /** Topics that the programs consume. */
  readonly consumed: readonly string[];
  /** The fault that affects a broker at the moment. */
  brokers: Promise<void>;
}

type ClusterFault = (world: ClusterWorld) => Promise<void>;

const GRACEFUL: Readonly<Record<string, ClusterFault>> = {
  roll: async (world) => {
    for (const member of world.members) {
      if (world.busy.has(member)) continue;
      world.busy.add(member);
      await stopAndStart(world, member);
      world.busy.delete(member);
    }
  },
  election: async ({ cluster, consumed }) => {
    for (const topic of [OFFSETS_TOPIC, ...consumed]) await cluster.look.electPreferred(topic);
  },
  grow: async ({ random, cluster }) => {
    const topic = topics.deliveries(random.pick(MAY_GROW));
    const { length } = await cluster.look.partitions(topic);
    if (length < PARTITIONS_MAX) await cluster.look.addPartitions(topic, length + 1);
  },
  retention: async (world) => {
    const { random, cluster, reader, setDoomed } = world;
    const topic = topics.deliveries(DOOMED);
    setDoomed(true);
    // A circuit opens after 20 failures. After that, calls stay in the queue unread.
    await sleep(random.integer(4_000, 9_000));
    const over = lose(world);
    await reader.read();
    const ends = await reader.endsOf(topic);
    const offsets = ends.map(({ partition, end }) => ({ partition, offset: Math.max(0, end - 3) }));
    await cluster.look.deleteRecordsBefore(topic, offsets);
    over();
    setDoomed(false);
  },
};

const VIOLENT: Readonly<Record<string, ClusterFault>> = {
  broker: (world) =>
    withBrokers(world, async () => {
      const over = expose(world, "broker");
      await world.broker.kill();
      await sleep(world.random.pick([500, 3_000, SESSION_TIMEOUT_MS + 3_000]));
      await world.broker.restart();
      over(REJOINED_MS);
    }),
  leaderless: (world) =>
    withBrokers(world, async () => {
      const over = expose(world, "leaderless");
      await world.broker.kill();
      await sleep(world.random.integer(6_000, 12_000));
      await world.broker.restart();
      over(REJOINED_MS);
    }),
  "broker-freeze": (world) =>
    withBrokers(world, async () => {
      const over = expose(world, "broker-freeze");
      const node = world.random.pick(world.cluster.nodes);
      node.freeze();
      await sleep(world.random.integer(500, 12_000));
      node.thaw();
      over(REJOINED_MS);
    }),
  "broker-roll": (world) =>
    withBrokers(world, async () => {
      for (const node of world.cluster.nodes) {
        const over = expose(world, "broker-roll");
        await node.stop();
        await node.start();
        await world.cluster.look.untilInSync([OFFSETS_TOPIC, topics.calls]);
        over(REJOINED_MS);
      }
    }),
  "topic-gone": async (world) => {
    const topic = topics.deliveries(DOOMED);
    const over = expose(world, "topic-gone");
    const lost = lose(world);
    await world.reader.read();
    await world.reader.delete(topic);
    lost();
    over(REJOINED_MS);
  },
};

const ALL: Readonly<Record<string, ClusterFault>> = { ...GRACEFUL, ...VIOLENT };
export const CLUSTER_FAULT_KINDS: readonly string[] = Object.keys(ALL);

export function isGracefulInCluster(kind: string): boolean {
  return kind in GRACEFUL || (!(kind in ALL) && isGraceful(kind));
}

/** Runs a fault, and resolves when it is over. */
export async function injectInCluster(kind: string, world: ClusterWorld): Promise<void> {
  const fault = ALL[kind];
  await (fault === undefined ? inject(kind, world) : fault(world));
}

/** Starts all brokers that are not running, for whatever reason. */
export async function startBrokers({ cluster }: ClusterWorld): Promise<void> {
  for (const node of cluster.nodes) {
    node.thaw();
    await node.start();
  }
}

async function withBrokers(world: ClusterWorld, act: () => Promise<void>): Promise<void> {
  // A fault that failed is reported by its own round.
  const before = world.brokers.catch(() => undefined);
  world.brokers = (async () => {
    await before;
    await act();
  })();
  await world.brokers;
}

/** Starts the time in which calls for `doomed` may be lost. Returns a function that ends it. */
function lose({ losses }: ClusterWorld): () => void {
  const open: Loss = { destination: DOOMED, toMs: Number.POSITIVE_INFINITY };
  losses.push(open);
  return () => {
    losses[losses.indexOf(open)] = { ...open, toMs: Date.now() };
  };
}
