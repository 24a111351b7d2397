/**
 * Tests each sentence of src/kafka/port.ts, in a suite that runs against the real Kafka and the one in memory. Tests
 * wait for events, and do not sleep or measure time.
 */

import { afterEach, beforeEach } from "vitest";

import { testAdmin, testManyOffsets } from "./admin.ts";
import { Bench, type KafkaUnderTest } from "./bench.ts";
import { testConsumer } from "./consumer.ts";
import { testHold } from "./hold.ts";
import { testProducer } from "./producer.ts";
import { testRead } from "./read.ts";
import { testRebalance } from "./rebalance.ts";
import { testReports } from "./reports.ts";

/** @param start called before each test; its result is closed after the test. */
export function testKafkaContract(start: () => KafkaUnderTest): void {
  const bench = new Bench();
  beforeEach(() => bench.open(start()));
  afterEach(() => bench.close());
  testConsumer(bench);
  testHold(bench);
  testReports(bench);
  testRebalance(bench);
  testProducer(bench);
  testAdmin(bench);
  testManyOffsets(bench);
  testRead(bench);
}
