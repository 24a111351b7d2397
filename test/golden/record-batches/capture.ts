// Saves the record batches of topics as the broker sends them; see README.md.
// node capture.ts <broker> <topic prefix> <file prefix>

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "../../../src/base/telemetry/log.ts";
import { fetch } from "../../../src/kafka/broker/requests.ts";
import { Brokers } from "../../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../../src/kafka/cluster/connection.ts";

const [broker = "", topicPrefix = "", filePrefix = ""] = process.argv.slice(2);

const sizes = { sessionTimeoutMs: 45_000, recordMaxBytes: () => 1_000_000 };
const connection = { brokers: [broker], clientId: "capture", tls: null, sasl: null, ...sizes };
const client = new Clients(connection, createLog("error")).create();
const brokers = new Brokers(client);
const whole = { sessionId: 0, sessionEpoch: -1, maxWaitMs: 100, maxBytes: 100_000_000 };
for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
  const topic = topicPrefix + codec;
  const [found] = (await brokers.metadata([topic])).topics;
  const leader = await brokers.leader(found?.partitions[0]?.leaderId ?? -1);
  const requested = [{ topic, partition: 0, offset: 0, maxBytes: whole.maxBytes }];
  const { sets } = await leader.send(fetch({ ...whole, requested, forgotten: [] }));
  const file = join(import.meta.dirname, `${filePrefix}${codec}.bin`);
  writeFileSync(file, sets[0]?.records ?? "");
}
client.destroy();
