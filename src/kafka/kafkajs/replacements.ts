/** The list of kafkajs' modules that are replaced, and the short replacements themselves. */

import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import { frameBytes, frameRequest } from "../wire/frame-request.ts";
import { withoutAborted } from "../wire/without-aborted.ts";
import { type Address, addressOf } from "./address.ts";
import { authenticateToBroker } from "./authentication.ts";
import { connectionPools } from "./connection-pools.ts";
import type { ConsumerGroup } from "./consumer-group.ts";
import { DRIVER_OUTAGE } from "./error-names.ts";
import { fetchContext, fetchDecoder } from "./fetch-decoder.ts";
import { commitMetadataHook, joinHook } from "./group-hooks.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import { requestQueue } from "./request-queue.ts";
import { brokerVersions, requestVersions } from "./request-versions.ts";
import { sessions } from "./sessions.ts";

interface FrameArguments {
  readonly correlationId: number;
  readonly clientId: string;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    /** Our encoders leave the requested room in front of the request; kafkajs' own encoders leave none. */
    encode(roomBytes: number): Promise<{ readonly buffer: Buffer; readonly roomBytes?: number }>;
  };
}

/**
 * Frames requests with `wire/frame-request.ts`. kafkajs' own code copies the whole request twice, through buffers that
 * it fills with zeros.
 */
const requestFrame: Replacement = {
  name: "frame-request",
  module: "src/protocol/request.js",
  replace: (load: LoadInternal) => {
    const Encoder = load("src/protocol/encoder.js") as new (
      bytes: number,
    ) => { buf: Buffer; offset: number };
    return async ({ correlationId, clientId, request }: FrameArguments) => {
      const { apiKey, apiVersion } = request;
      const { buffer, roomBytes } = await request.encode(frameBytes(clientId));
      const buf = frameRequest({ apiKey, apiVersion, correlationId, clientId }, buffer, roomBytes);
      return Object.assign(new Encoder(1), { buf, offset: buf.length });
    };
  },
};

const PRODUCE_MODULE = "src/protocol/requests/produce/v3/request.js";

/** The parts of kafkajs' Encoder that its callers use. A request must return an Encoder. */
interface Encoder {
  buf: Buffer;
  offset: number;
}

/**
 * Encodes our producer's requests with `wire/encode-produce.ts`. kafkajs grows a buffer for every record
 * and computes CRC-32C in JavaScript.
 *
 * Replaces kafkajs' version 3 of the request, to which its versions 4 to 7 delegate. kafkajs' own encoding is
 * still used for a broker that accepts only versions below 3 (Kafka before 0.11), and by kafkajs' own
 * producer, which is not used here.
 */
const produceEncoder: Replacement = {
  name: "encode-produce",
  module: PRODUCE_MODULE,
  replace: (load: LoadInternal) => {
    const Encoder = load("src/protocol/encoder.js") as new (bytes: number) => Encoder;
    const { Produce: apiKey } = load("src/protocol/requests/apiKeys.js") as { Produce: number };
    const original = load(PRODUCE_MODULE) as (produce: object) => unknown;
    return (produce: object) =>
      isOurs(produce)
        ? {
            apiKey,
            apiVersion: 3,
            apiName: "Produce",
            expectResponse: () => produce.acks !== 0,
            encode: async (roomBytes = 0) => {
              const buf = encodeProduce(produce, roomBytes);
              return Object.assign(new Encoder(1), { buf, offset: buf.length, roomBytes });
            },
          }
        : original(produce);
  },
};

/**
 * `true` for our requests, in which each batch has a separate producer ID. In kafkajs' requests, all batches have the
 * same one.
 */
function isOurs(produce: object): produce is ProduceRequest {
  const [topic] = (produce as ProduceRequest).topicData;
  return topic?.partitions[0]?.producerId !== undefined;
}

/**
 * Filters out aborted transactions with `wire/without-aborted.ts`. kafkajs mistakes any record with a key
 * of four zero bytes for a marker, and filters out only the first of several aborted transactions.
 */
const abortedFilter: Replacement = {
  name: "filter-aborted",
  module: "src/consumer/filterAbortedMessages.js",
  replace: () => withoutAborted,
};

interface Options {
  readonly brokers: readonly string[];
}

interface Builder {
  /** Connects to the address if one is given, and otherwise to the next configured address. */
  build(to?: Partial<Address>): Promise<unknown>;
}

/**
 * Returns the configured addresses in turn, as host and port. kafkajs splits an address at its first colon,
 * which breaks IPv6 addresses.
 */
const seedAddresses: Replacement = {
  name: "seed-addresses",
  module: "src/cluster/connectionPoolBuilder.js",
  replace: (load) => {
    const Original = load("src/cluster/connectionPoolBuilder.js") as (options: Options) => Builder;
    return (options: Options): Builder => {
      const { brokers } = options;
      const builder = Original(options);
      let next = 0;
      const nextSeed = () => addressOf(brokers[next++ % brokers.length] ?? "");
      return { build: (to = {}) => builder.build(to.host ? to : nextSeed()) };
    };
  },
};

interface BrokerPool {
  withBroker<Result>(send: (at: unknown) => Promise<Result>): Promise<Result | null>;
}

interface Cluster {
  readonly brokerPool: BrokerPool;
  findGroupCoordinatorMetadata(of: { readonly groupId: string }): Promise<unknown>;
}

/**
 * Keeps the brokers' responses to the request for a group's coordinator. kafkajs queries one broker after
 * another, drops all errors, and reports that there is no coordinator. This looks like an outage, so a
 * consumer without permission for its group would wait forever.
 *
 *   the last broker's response             the error is
 *   no coordinator now, or no response     kafkajs' own
 *   anything else: no permission           the broker's
 */
const coordinatorResponse: Replacement = {
  name: "coordinator-response",
  module: "src/cluster/index.js",
  replace: (load: LoadInternal) => {
    const cluster = load("src/cluster/index.js") as { readonly prototype: Cluster };
    const find = cluster.prototype.findGroupCoordinatorMetadata;
    cluster.prototype.findGroupCoordinatorMetadata = async function findMetadata(of) {
      let lastError: unknown = null;
      // The original method runs on an object that differs from `this` only in the way in which it queries brokers.
      const brokerPool: BrokerPool = {
        withBroker: (send) =>
          this.brokerPool.withBroker(async (at) => {
            try {
              return await send(at);
            } catch (error) {
              lastError = error;
              throw error;
            }
          }),
      };
      try {
        return await find.call(Object.create(this, { brokerPool: { value: brokerPool } }), of);
      } catch (error) {
        throw isLasting(lastError) ? lastError : error;
      }
    };
    return cluster;
  },
};

/** `true` for a broker's error that waiting does not fix. */
function isLasting(error: unknown): boolean {
  if (!(error instanceof Error) || DRIVER_OUTAGE.some((name) => name === error.name)) return false;
  return "type" in error && !("retriable" in error && error.retriable === true);
}

type Fetch = (nodeId: string) => Promise<unknown>;

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: Pick<ConsumerGroup, "endFetches">;
  fetch: Fetch;
}

/**
 * Ends the fetch loops of a consumer that is stopped. When the brokers of a cluster change, kafkajs ends its
 * fetch loops and creates new ones. A stop in between ends only the old loops:
 *
 *   a fetch of a stopped consumer        kafkajs                              here
 *   its loop has been told to end        does not start it                    the same
 *   its loop was created meanwhile       returns nothing immediately, again   fails, which ends the loop
 *                                        and again: the process does nothing
 *                                        else
 *   another loop has failed              waits for it without a limit         ends it
 */
const stoppedFetch: Replacement = {
  name: "stopped-fetch",
  module: "src/consumer/runner.js",
  replace: (load: LoadInternal) => {
    const Original = load("src/consumer/runner.js") as { readonly prototype: Runner };
    const { fetch } = Original.prototype;
    Original.prototype.fetch = async function fetchWhileRunning(this: Runner, nodeId: string) {
      if (!this.running) throw new Error("the consumer is stopped");
      try {
        return await fetch.call(this, nodeId);
      } catch (error) {
        // By the time this runs, the other loops have been told to end.
        setImmediate(() => this.consumerGroup.endFetches?.());
        throw error;
      }
    };
    return Original;
  },
};

/** The order matters: no replacement may load a module that a later one replaces. */
export const REPLACEMENTS: readonly Replacement[] = [
  requestFrame,
  produceEncoder,
  fetchDecoder,
  fetchContext,
  abortedFilter,
  requestVersions,
  brokerVersions,
  requestQueue,
  authenticateToBroker,
  sessions,
  connectionPools,
  seedAddresses,
  coordinatorResponse,
  commitMetadataHook,
  joinHook,
  stoppedFetch,
];
