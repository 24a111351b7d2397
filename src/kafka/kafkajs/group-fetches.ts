/**
 * Connects a group's fetches to the shared fetch: adds a policy for each partition, and passes on records that
 * arrive while a fetch continues.
 */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";
import type { FetchedBatch, FetchedRecord, TakeBatches } from "../membership.ts";
import { corruptInPlaceOf } from "../wire/corrupt-batch.ts";
import { recordOf } from "../wire/fetched-record.ts";
import type { ConsumerGroup, FetchBroker, FetchRequest, KafkajsBatch } from "./consumer-group.ts";
import type { FetchPolicy } from "./fetch-decoder.ts";
import {
  type DecodedPartition,
  type FetchResult,
  type NextOffset,
  NOTHING,
} from "./fetch-result.ts";
import { loadInternal } from "./kafkajs.ts";
import type { MemberFetches } from "./member-fetches.ts";
import { MemberPool } from "./member-pool.ts";

const ResponseBatch = loadInternal("src/consumer/batch.js") as new (
  topic: string,
  fetchedOffset: string,
  partition: DecodedPartition,
) => KafkajsBatch;

/**
 * Makes the group's fetches contain a policy for each partition. The decoder of the response uses these policies.
 *
 * @param takes for each node, the callback for batches that arrive while a fetch continues.
 * @param fetches decides how long the fetches last.
 */
export function addPolicy(
  group: ConsumerGroup,
  policyOf: (topic: string) => FetchPolicy,
  takes: ReadonlyMap<string, TakeBatches>,
  fetches: MemberFetches,
): void {
  const { cluster } = group;
  const findBroker = cluster.findBroker.bind(cluster);
  const wrapped = new Map<string, { readonly broker: FetchBroker; readonly as: FetchBroker }>();
  cluster.findBroker = async (node) => {
    const broker = await findBroker(node);
    const last = wrapped.get(node.nodeId);
    if (last?.broker === broker) return last.as;
    const fetch = (request: FetchRequest) => {
      const topics = request.topics.map(({ topic, partitions }) => {
        const policy = policyOf(topic);
        return { topic, partitions: partitions.map((partition) => ({ ...partition, policy })) };
      });
      const { connectionPool } = broker;
      const isShared = connectionPool instanceof MemberPool && connectionPool.sharesFetches;
      if (!isShared) return broker.fetch({ ...request, topics });
      const maxWaitTime = fetches.lastsMs(node.nodeId, request.maxWaitTime);
      if (maxWaitTime === null) return Promise.resolve(NOTHING);
      const requested = { ...request, topics, maxWaitTime };
      const take = takes.get(node.nodeId);
      return connectionPool.fetch(requested, take && ((result) => takeResult(group, result, take)));
    };
    const as = Object.create(broker, { fetch: { value: fetch } }) as FetchBroker;
    wrapped.set(node.nodeId, { broker, as });
    return as;
  };
}

/**
 * Passes on batches that have arrived, bypassing kafkajs, because kafkajs would start a new fetch for each record.
 * kafkajs' position advances when the batches are taken.
 */
function takeResult(
  group: ConsumerGroup,
  { responses }: FetchResult,
  take: TakeBatches,
): NextOffset[] | null {
  const batches = responses.flatMap(({ topicName, partitions }) =>
    partitions.map((each) => batchOf(new ResponseBatch(topicName, `${each.fetchOffset}`, each))),
  );
  // If a partition was paused meanwhile, its records are fetched again later, as in kafkajs.
  const isPaused = batches.some(({ topic, partition }) => group.isPaused(topic, partition));
  if (isPaused || !take(batches)) return null;
  return batches.map(({ topic, partition, last, from }) => {
    return { topic, partition, offset: last === null ? from : last + 1 };
  });
}

export function batchOf(batch: KafkajsBatch): FetchedBatch {
  return new Batch(batch);
}

/** Creates each record only when it is read, because thousands of records of a fetch may wait to be passed on. */
class Batch implements FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly end: number;
  readonly last: number | null;
  readonly corrupt: CorruptBatch | null;
  readonly #messages: KafkajsBatch["messages"];

  constructor(batch: KafkajsBatch) {
    this.topic = batch.topic;
    this.partition = batch.partition;
    this.from = Number(batch.fetchedOffset);
    this.corrupt = corruptInPlaceOf(batch.rawMessages);
    if (this.corrupt !== null) this.last = this.corrupt.behind - 1;
    else this.last = batch.rawMessages.length === 0 ? null : Number(batch.lastOffset());
    // Records that are appended while the broker reads arrive with a log end offset that does not include them.
    this.end = Math.max(Number(batch.highWatermark), (this.last ?? -1) + 1);
    this.#messages = batch.messages;
  }

  get count(): number {
    return this.#messages.length;
  }

  recordAt(index: number): FetchedRecord {
    const message = this.#messages[index];
    if (message === undefined) throw new RangeError(`a batch of ${this.count} has no ${index}`);
    return recordOf(this.topic, this.partition, message);
  }
}
