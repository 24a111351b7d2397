// The Kafka in memory satisfies the contract of the port. Its clock advances whenever no code has anything left to do.

import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { RECORD_MAX_BYTES } from "../../../support/contract/bench.ts";
import { testKafkaContract } from "../../../support/contract/contract.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

testKafkaContract(() => {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({
    clock,
    random: createPrng(1),
    recordMaxBytes: () => RECORD_MAX_BYTES,
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
