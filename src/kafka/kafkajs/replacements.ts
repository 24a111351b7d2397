/** The list of kafkajs' modules that are replaced, and the short replacements themselves. */

import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import { frameBytes, frameRequest } from "../wire/frame-request.ts";
import { type Address, addressOf } from "./address.ts";
import { authenticateToBroker } from "./authentication.ts";
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
    /** Our encoders leave the requested room in front; kafkajs' own encoders leave none. */
    encode(roomBytes: number): Promise<{ readonly buffer: Buffer; readonly roomBytes?: number }>;
  };
}

/**
 * Frames requests with `wire/frame-request.ts`. To do so, kafkajs copies the whole request twice, through
 * buffers that it fills with zeros.
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

/** `true` for our requests, in which each batch has its own producer ID. In kafkajs, the whole request has one. */
function isOurs(produce: object): produce is ProduceRequest {
  const [topic] = (produce as ProduceRequest).topicData;
  return topic?.partitions[0]?.producerId !== undefined;
}

interface Options {
  readonly brokers: readonly string[];
}

interface Builder {
  /** Connects to the address, or without one to the next configured address. */
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

/** The order matters: no replacement may load a module that a later one replaces. */
export const REPLACEMENTS: readonly Replacement[] = [
  requestFrame,
  produceEncoder,
  requestVersions,
  brokerVersions,
  requestQueue,
  authenticateToBroker,
  sessions,
  seedAddresses,
];
