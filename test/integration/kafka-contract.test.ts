// A real Kafka satisfies the contract of the port. Brokers are set in SWITCHYARD_KAFKA_BROKERS.

import { RECORD_MAX_BYTES } from "../support/contract/bench.ts";
import { testKafkaContract } from "../support/contract/contract.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const brokers = process.env.SWITCHYARD_KAFKA_BROKERS;
if (brokers === undefined) {
  throw new Error("no Kafka to test with: set SWITCHYARD_KAFKA_BROKERS to host:port");
}

testKafkaContract(() => ({
  connect: () => testKafka({ brokers: brokers.split(","), recordMaxBytes: () => RECORD_MAX_BYTES }),
  close: () => Promise.resolve(),
}));
