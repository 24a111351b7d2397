/** Writes record batches unchanged, even invalid ones, like a foreign producer. */

import { Brokers } from "../../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../../src/kafka/cluster/connection.ts";
import { sendRequest } from "../../../src/kafka/kafkajs/internals.ts";
import type { KafkaConnection } from "../../../src/kafka/port.ts";
import { createLog } from "../../../src/telemetry/log.ts";

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
    const { topicMetadata } = await brokers.metadata([topic]);
    const found = topicMetadata[0]?.partitionMetadata.find((one) => one.partitionId === partition);
    const broker = await brokers.leader(found?.leader ?? -1);
    const payload = await sendRequest<Buffer>(broker, {
      request: {
        ...{ apiKey: 0, apiVersion: 7, apiName: "Produce" },
        expectResponse: () => true,
        encode: async () => ({ buffer: request(topic, partition, batch) }),
      },
      response: { decode: async (buffer: Buffer) => buffer },
    });
    // The response has one topic with its name and one partition with its number, followed by the error code.
    const errorCode = payload.readInt16BE(4 + 2 + Buffer.byteLength(topic) + 4 + 4);
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
