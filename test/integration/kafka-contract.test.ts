// A real Kafka satisfies the contract of the port. Brokers are set in SWITCHYARD_KAFKA_BROKERS.

import { createKafka } from "../../src/kafka/kafka.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { RECORD_MAX_BYTES } from "../support/contract/bench.ts";
import { testKafkaContract } from "../support/contract/contract.ts";

const brokers = process.env.SWITCHYARD_KAFKA_BROKERS;
if (brokers === undefined) {
  throw new Error("no Kafka to test with: set SWITCHYARD_KAFKA_BROKERS to host:port");
}

testKafkaContract(() => ({
  connect: () =>
    createKafka(
      {
        brokers: brokers.split(","),
        clientId: "contract",
        tls: null,
        sasl: null,
        sessionTimeoutMs: 10_000,
        recordMaxBytes: () => RECORD_MAX_BYTES,
      },
      createLog("error"),
    ),
  close: () => Promise.resolve(),
}));
