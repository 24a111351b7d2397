/** Implements the port on a real cluster. */

import { type Clock, systemClock } from "../base/runtime/clock.ts";
import type { Log } from "../base/telemetry/log.ts";
import { KafkaAdmin } from "./cluster/admin.ts";
import { Brokers } from "./cluster/brokers.ts";
import { ClusterWatch } from "./cluster/cluster-watch.ts";
import { Clients } from "./cluster/connection.ts";
import { LeaderTable } from "./cluster/leader-table.ts";
import { LogEnds } from "./cluster/log-ends.ts";
import { RangeReader } from "./cluster/range-reader.ts";
import { CommitPace } from "./consume/commit-pace.ts";
import { type ConsumerWorld, KafkaConsumer } from "./consume/consumer.ts";
import { idleHeartbeatMs } from "./consume/consumer-times.ts";
import { FetchSources } from "./fetch/sources.ts";
import { commitAsMember } from "./group/commit-as-member.ts";
import { GroupWatch } from "./group/group-watch.ts";
import { GroupMember, type GroupWorld } from "./group/member.ts";
import type { Kafka, KafkaConnection, Producer } from "./port.ts";
import { KafkaProducer } from "./produce/producer.ts";

/** Connects when first used. The caller must close it. */
export function createKafka(
  connection: KafkaConnection,
  log: Log,
  clock: Clock = systemClock,
): Kafka {
  const clients = new Clients(connection, log, clock);
  const admin = new KafkaAdmin(clients);
  const reader = new RangeReader(clients);
  const followers = new Set<RangeReader>();
  const ends = new LogEnds();
  const isThrottled = () => clients.throttles.isThrottled();
  let watch: ClusterWatch | null = null;
  let group: GroupWorld | null = null;
  const world = (): GroupWorld => {
    group ??= createGroupWorld(clients, isThrottled);
    return group;
  };
  const consumerWorld: ConsumerWorld = {
    createMembership: (options, events) => new GroupMember(options, events, world()),
    sessionTimeoutMs: connection.sessionTimeoutMs,
    recordMaxBytes: connection.recordMaxBytes,
    outages: clients.outages,
    ends,
    commits: new CommitPace(isThrottled),
    identity: connection,
    clock,
    log,
  };
  const consumers = new Set<KafkaConsumer>();
  const producers = new Set<Producer>();
  return {
    admin,
    consume: (options) => {
      const consumer = new KafkaConsumer(consumerWorld, options);
      consumers.add(consumer);
      void consumer.over.then(() => consumers.delete(consumer));
      return consumer;
    },
    producer: (options) => {
      const producer = new KafkaProducer(clients, options, () => producers.delete(producer));
      producers.add(producer);
      return producer;
    },
    read: (range) => reader.read(range),
    follow: async function* (range) {
      const follower = new RangeReader(clients);
      followers.add(follower);
      try {
        yield* follower.follow(range);
      } finally {
        followers.delete(follower);
        follower.close();
      }
    },
    corruptionAt: (place) => reader.corruptionAt(place),
    commitAsMember: (...commit) => commitAsMember(world(), ...commit),
    watch: () => {
      // Progress would be 30,000 objects for 10,000 destinations, which would reach the old generation of the heap.
      const owned = () => [...consumers].flatMap((consumer) => consumer.owned);
      watch ??= new ClusterWatch(clients, ends, owned);
      return watch;
    },
    close: async () => {
      watch?.close();
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([...producers].map((producer) => producer.close(0)));
      for (const each of [reader, ...followers]) each.close();
      await admin.close();
      group?.sources.close();
      group?.leaders.close();
      clients.close();
    },
  };
}

/** What the members of this process share. */
function createGroupWorld(clients: Clients, isThrottled: () => boolean): GroupWorld {
  const { clientId, sessionTimeoutMs } = clients.connection;
  const connections = clients.connections();
  const leaders = new LeaderTable(clients, new Brokers({ shared: connections }));
  const sources = new FetchSources({
    connections,
    outagesOf: (broker) => clients.outages.fetchOutages(broker),
    onLost: (topics) => leaders.refresh(topics),
  });
  const groups = new GroupWatch((count) => idleHeartbeatMs(sessionTimeoutMs, count), isThrottled);
  return { clientId, connections, leaders, sources, groups };
}
