// The Kafka in memory keeps the port's contract: its clock moves on whenever nobody has more to do.

import { testKafkaContract } from "../support/kafka-contract.ts";
import { RECORD_BYTES_MAX } from "../support/kafka-contract-bench.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { MemoryCluster } from "../support/memory-kafka.ts";
import { createPrng } from "../support/prng.ts";

testKafkaContract(() => {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({
    clock,
    random: createPrng(1),
    recordBytesMax: () => RECORD_BYTES_MAX,
    settings: { "offsets.retention.minutes": "10080" },
  });
  let isOpen = true;
  const run = async () => {
    while (isOpen) await clock.advanceToNext();
  };
  const running = run();
  return {
    connect: () => cluster.connect(),
    close: async () => {
      isOpen = false;
      await running;
    },
  };
});
