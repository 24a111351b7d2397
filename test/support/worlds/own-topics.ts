/** A client of the tests' Kafka, and topics of a prefix that no other test has. */

import { onTestFinished, type TestContext } from "vitest";

import type { IncomingRecord } from "../../../src/domain/record.ts";
import { createKafka } from "../../../src/kafka/kafka.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { uniquePrefix } from "../build/prefix.ts";

const RECORD_MAX_BYTES = 1_048_576;

/**
 * With the end of the test the topics are deleted, and the client is closed.
 *
 * @param finished of the context, in a test that runs beside others.
 */
export function ownTopics(name: string, finished: TestContext["onTestFinished"] = onTestFinished) {
  const prefix = uniquePrefix(name);
  const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
  const kafka = createKafka(
    {
      ...{ brokers, clientId: "test", tls: null, sasl: null, sessionTimeoutMs: 10_000 },
      recordMaxBytes: () => RECORD_MAX_BYTES,
    },
    createLog("error", { write: () => undefined }),
  );
  finished(async () => {
    const names = await kafka.admin.topics();
    await kafka.admin.deleteTopics(names.filter((each) => each.startsWith(prefix)));
    await kafka.close();
  });
  /** All that lies in a topic of the prefix now, a partition after the other. */
  const recordsIn = async (topic: string): Promise<readonly IncomingRecord[]> => {
    const found: IncomingRecord[] = [];
    const { signal } = new AbortController();
    for (const { partition, first, end } of await kafka.admin.offsets(prefix + topic)) {
      if (first === end) continue;
      const at = { topic: prefix + topic, partition, from: first, to: end };
      const range = { ...at, maxBytes: RECORD_MAX_BYTES, signal };
      for await (const records of kafka.read(range)) found.push(...records);
    }
    return found;
  };
  return { prefix, brokers, kafka, recordsIn };
}
