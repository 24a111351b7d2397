/** The deletion stage with a Kafka in memory, on a clock that tests advance. */

import type { DestinationId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Schemas } from "../../../src/registry/port.ts";
import { startDeletion } from "../../../src/router/deletion/stage.ts";
import { aSource, aTopicDestination, headerTexts } from "../build/calls.ts";
import { webhookDestination } from "../build/webhook-destination.ts";
import { groups, StageWorld, topics } from "./stage-world.ts";

const SOURCES = [
  aSource("web", ["hook", "warehouse"]),
  aSource("ios", ["hook", "second"]),
  aSource("quiet", ["warehouse", "off"]),
];
const DESTINATIONS = [
  webhookDestination({ id: "hook" }),
  webhookDestination({ id: "second" }),
  webhookDestination({ id: "off", enabled: false }),
  aTopicDestination("warehouse"),
];
export const SYNC_PARTITIONS = 3;

export class DeletionWorld extends StageWorld {
  constructor(partitions = 1, recordMaxBytes: (topic: string) => number = () => 1_048_576) {
    const input = topics.deletionRequests;
    super({ input, group: groups.deletion, partitions, recordMaxBytes });
    this.cluster.createTopic(topics.audienceSyncs, SYNC_PARTITIONS);
    for (const { id } of DESTINATIONS) this.cluster.createTopic(topics.deliveries(id), 2);
  }

  start(schemas?: Schemas) {
    return this.startIn((deps) =>
      startDeletion(schemas === undefined ? deps : { ...deps, schemas }, {
        topics,
        groups,
        sources: SOURCES,
        destinations: DESTINATIONS,
        maxBytes: 4_000_000,
        drainLimitMs: 10_000,
      }),
    );
  }

  /** Writes requests for the users from `u<from>` on, for every source. */
  appendRequests(count: number, from = 0): void {
    for (let number = from; number < from + count; number += 1) {
      this.append({ userId: `u${number}` });
    }
  }

  /** The notifications of a destination: `<user> at <source>`, one per record. */
  notified(destination: string): readonly string[] {
    return this.#deliveries(destination).map(
      (record) => `${contentOf(record).userId} at ${headerTexts(record)["switchyard-source"]}`,
    );
  }

  /** Message IDs of a destination's notifications, one per record. */
  messageIds(destination: string): readonly string[] {
    return this.#deliveries(destination).map((record) => `${contentOf(record).messageId}`);
  }

  /** Users to forget, one for each record, by partition. */
  forgotten(): readonly (readonly string[])[] {
    const records = this.cluster.records(topics.audienceSyncs);
    const partitions = Math.max(SYNC_PARTITIONS, ...records.map(({ partition }) => partition + 1));
    return Array.from({ length: partitions }, (_, partition) =>
      records
        .filter((record) => record.partition === partition)
        .map((record) => {
          const { type, userId } = contentOf(record);
          if (type !== "forget") throw new Error(`audience-syncs has a ${type}`);
          return `${userId}`;
        }),
    );
  }

  #deliveries(destination: string): readonly IncomingRecord[] {
    return this.cluster.records(topics.deliveries(destination as DestinationId));
  }
}

/** Cached, because tests read all records again after each step. */
const known = new WeakMap<IncomingRecord, Readonly<Record<string, unknown>>>();

function contentOf(record: IncomingRecord): Readonly<Record<string, unknown>> {
  const content = known.get(record) ?? JSON.parse(`${record.value}`);
  known.set(record, content);
  return content;
}
