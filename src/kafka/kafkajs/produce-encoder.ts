/**
 * Encodes our producer's requests with `wire/encode-produce.ts`. kafkajs grows a buffer for every
 * record and computes CRC-32C in JavaScript.
 *
 * Stands in for kafkajs' version 3 of the request, to which its versions 4 to 7 delegate. A broker
 * that knows only versions below 3 (Kafka before 0.11) still gets kafkajs' own encoding. So does
 * kafkajs' own producer, which nothing here uses.
 */

import { encodeProduce, type ProduceRequest } from "../wire/encode-produce.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

const MODULE = "src/protocol/requests/produce/v3/request.js";

/** The parts of kafkajs' Encoder that its users need; a request must return one. */
interface Encoder {
  buf: Buffer;
  offset: number;
}

export const produceEncoder: Replacement = {
  name: "encode-produce",
  module: MODULE,
  replace: (load: LoadInternal) => {
    const Encoder = load("src/protocol/encoder.js") as new (bytes: number) => Encoder;
    const { Produce: apiKey } = load("src/protocol/requests/apiKeys.js") as { Produce: number };
    const original = load(MODULE) as (produce: object) => unknown;
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

/** Our batches bring their own producer ids. kafkajs' have one for the whole request. */
function isOurs(produce: object): produce is ProduceRequest {
  const [topic] = (produce as ProduceRequest).topicData;
  return topic?.partitions[0]?.producerId !== undefined;
}
