/** Sets client quotas of a broker, like those of managed clusters. */

import { Clients } from "../../../src/kafka/cluster/connection.ts";
import { rawRequest } from "../../../src/kafka/kafkajs/raw-request.ts";
import type { KafkaConnection } from "../../../src/kafka/port.ts";
import { LogLines } from "../log/log-lines.ts";

const ALTER_CLIENT_QUOTAS = { apiKey: 49, apiName: "AlterClientQuotas", versions: [0] };

export interface Quota {
  /** Percent of the time of one broker thread, or bytes per second, for all connections together. */
  readonly kind: "request_percentage" | "producer_byte_rate" | "consumer_byte_rate";
  readonly limit: number;
}

export async function setQuota(
  brokers: readonly string[],
  clientId: string,
  { kind, limit }: Quota,
): Promise<void> {
  const connection: KafkaConnection = {
    brokers,
    clientId: "sets-quotas",
    tls: null,
    sasl: null,
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 900_000,
  };
  const client = new Clients(connection, new LogLines().log).create();
  try {
    const errorCode = await client.shared.any((broker) =>
      rawRequest(broker, ALTER_CLIENT_QUOTAS, {
        encode,
        // The throttle time and the number of entries come first.
        read: (response) => response.readInt16BE(8),
      }),
    );
    if (errorCode !== 0) throw new Error(`the broker rejected the quota with error ${errorCode}`);
  } finally {
    client.destroy();
  }

  function encode(): Buffer {
    const one = int32(1);
    const entity = [one, string("client-id"), string(clientId)];
    const value = Buffer.alloc(8);
    value.writeDoubleBE(limit);
    const change = [one, string(kind), value, Buffer.from([0])];
    const isOnlyChecked = Buffer.from([0]);
    return Buffer.concat([one, ...entity, ...change, isOnlyChecked]);
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(Buffer.byteLength(text));
  return Buffer.concat([bytes, Buffer.from(text)]);
}
