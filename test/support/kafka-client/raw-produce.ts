/** Writes record batches unchanged, even invalid ones, like a foreign producer. */

import { produceV7 } from "@platformatic/kafka";
import { createLog } from "../../../src/base/telemetry/log.ts";
import { encodedRequest } from "../../../src/kafka/broker/request.ts";
import { Brokers } from "../../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../../src/kafka/cluster/connection.ts";
import type { KafkaConnection } from "../../../src/kafka/port.ts";

const PRODUCE = { apiKey: 0, apiName: "Produce", versions: [7] };

/** @throws Error if the broker rejects the batch. */
export async function rawProduce(
  connection: KafkaConnection,
  topic: string,
  partition: number,
  batch: Buffer,
): Promise<void> {
  const client = new Clients(connection, createLog("error")).create();
  const brokers = new Brokers(client);
  try {
    const { topics } = await brokers.metadata([topic]);
    const found = topics[0]?.partitions.find((one) => one.partitionIndex === partition);
    const broker = await brokers.leader(found?.leaderId ?? -1);
    const encode = () => request(topic, partition, batch);
    const { responses } = await broker.send(
      encodedRequest(PRODUCE, null, encode, (reader) => produceV7.parseResponse(0, 0, 7, reader)),
    );
    const errorCode = responses[0]?.partitionResponses[0]?.errorCode;
    if (errorCode !== 0) throw new Error(`the broker refuses the batch: ${errorCode}`);
  } finally {
    brokers.close();
    client.destroy();
  }
}

function request(topic: string, partition: number, batch: Buffer): Buffer {
  const name = Buffer.from(topic);
  const head = Buffer.alloc(2 + 2 + 4 + 4 + 2 + name.length + 4 + 4 + 4);
  let at = head.writeInt16BE(-1, 0);
  at = head.writeInt16BE(-1, at);
  at = head.writeInt32BE(20_000, at);
  at = head.writeInt32BE(1, at);
  at = head.writeInt16BE(name.length, at);
  at += name.copy(head, at);
  at = head.writeInt32BE(1, at);
  at = head.writeInt32BE(partition, at);
  head.writeInt32BE(batch.length, at);
  return Buffer.concat([head, batch]);
}
