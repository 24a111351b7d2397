import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { RejectedRecord } from "../../../../src/kafka/port.ts";
import {
  type BufferedTopic,
  PartitionBuffer,
  type SendCall,
} from "../../../../src/kafka/produce/partition-buffer.ts";
import type { ProducerId } from "../../../../src/kafka/produce/producer-id.ts";
import { packRecord } from "../../../../src/kafka/wire/pack-record.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { decode, encodeBatch } from "../../../support/build/record-batches.ts";

function outgoing(value: string): OutgoingRecord {
  return { topic: "t", key: null, value: Buffer.from(value), headers: [] };
}

function laneTopic(batchMaxBytes: number): BufferedTopic & { batchMaxBytes: number } {
  return {
    name: "t",
    batchMaxBytes,
    batchWasTooLarge(bytes) {
      this.batchMaxBytes = Math.min(this.batchMaxBytes, bytes / 2);
    },
  };
}

interface Sent extends SendCall {
  result: readonly RejectedRecord[] | null;
}

function send(buffer: PartitionBuffer, values: readonly string[], bytes = 10): Sent {
  const call: Sent = {
    place: -1,
    unacknowledged: values.length,
    rejected: [],
    giveBack: false,
    result: null,
    resolve: (rejected) => {
      call.result = rejected;
    },
    reject: () => undefined,
  };
  for (const value of values) buffer.add(outgoing(value), bytes, call);
  return call;
}

function texts(records: readonly OutgoingRecord[]): (string | undefined)[] {
  return records.map(({ value }) => value?.toString());
}

const firstId: ProducerId = { producerId: 1, producerEpoch: 0 };
const secondId: ProducerId = { producerId: 2, producerEpoch: 0 };

describe("a buffer", () => {
  test("cuts what fits, and at least one record", () => {
    const buffer = new PartitionBuffer(laneTopic(25), 0);
    send(buffer, ["a", "b", "c"]);
    send(buffer, ["large"], 100);
    expect(texts(buffer.cut().records)).toEqual(["a", "b"]);
    buffer.acknowledge();
    expect(texts(buffer.cut().records)).toEqual(["c"]);
    buffer.acknowledge();
    expect(texts(buffer.cut().records)).toEqual(["large"]);
  });

  test("resolves a caller with its last record, numbers batches, and is empty then", () => {
    const buffer = new PartitionBuffer(laneTopic(25), 0);
    const first = send(buffer, ["a", "b", "c"]);
    const second = send(buffer, ["d"]);
    buffer.cut();
    buffer.acknowledge();
    expect([first.result, second.result, buffer.sequence]).toEqual([null, null, 2]);
    buffer.cut();
    buffer.acknowledge();
    expect([first.result, second.result, buffer.sequence]).toEqual([[], [], 4]);
    expect(buffer.isEmpty).toBe(true);
  });

  test("repeats a batch that may be written exactly as it was, whatever later tries come to", () => {
    const buffer = new PartitionBuffer(laneTopic(1_000), 0);
    send(buffer, ["a"]);
    buffer.cut();
    buffer.recordFailure(true);
    send(buffer, ["b"]);
    expect(texts(buffer.cut().records)).toEqual(["a"]);
    buffer.recordFailure(false);
    expect(texts(buffer.cut().records)).toEqual(["a"]);
    expect(buffer.sequence).toBe(0);
    buffer.acknowledge();
    expect(texts(buffer.cut().records)).toEqual(["b"]);
  });

  test("adds to a batch that was surely not written", () => {
    const buffer = new PartitionBuffer(laneTopic(1_000), 0);
    send(buffer, ["a"]);
    buffer.cut();
    buffer.recordFailure(false);
    send(buffer, ["b"]);
    expect(texts(buffer.cut().records)).toEqual(["a", "b"]);
  });

  test("counts failures until something is acknowledged", () => {
    const buffer = new PartitionBuffer(laneTopic(1_000), 0);
    send(buffer, ["a"]);
    buffer.cut();
    buffer.recordFailure(false);
    buffer.recordFailure(true);
    expect(buffer.failures).toBe(2);
    buffer.acknowledge();
    expect(buffer.failures).toBe(0);
  });

  test("begins to number again with another producer id, but not in the midst of a batch", () => {
    const buffer = new PartitionBuffer(laneTopic(25), 0);
    const cut = (current: ProducerId) => {
      buffer.cut();
      return [buffer.idFor(current), buffer.sequence];
    };
    send(buffer, ["a", "b", "c", "d", "e"]);
    expect(cut(firstId)).toEqual([firstId, 0]);
    buffer.acknowledge();
    expect(cut(firstId)).toEqual([firstId, 2]);
    buffer.recordFailure(true);
    expect(cut(secondId)).toEqual([firstId, 2]);
    buffer.acknowledge();
    expect(cut(secondId)).toEqual([secondId, 0]);
  });
});

test("a buffer whose id is rejected takes the next one, whatever may be written", () => {
  const buffer = new PartitionBuffer(laneTopic(25), 0);
  send(buffer, ["a", "b", "c"]);
  buffer.cut();
  buffer.idFor(firstId);
  buffer.acknowledge();
  buffer.cut();
  buffer.idFor(firstId);
  buffer.recordFailure(true);
  buffer.rejectId();
  buffer.cut();
  expect([buffer.idFor(secondId), buffer.sequence, buffer.failures]).toEqual([secondId, 0, 2]);
});

test("whatever the broker takes: exactly the records above it are rejected, the rest in order", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 60 });
  const limits = fc.record({ broker: fc.integer({ min: 1, max: 300 }), sizes });
  fc.assert(
    fc.property(limits, ({ broker, sizes }) => {
      const buffer = new PartitionBuffer(laneTopic(1_000), 0);
      const calls = sizes.map((size, index) => send(buffer, [`${index}`], size));
      const written: (string | undefined)[] = [];
      for (let tries = 0; !buffer.isEmpty; tries += 1) {
        expect(tries).toBeLessThan(200);
        const { records, bytes } = buffer.cut();
        if (bytes > broker) {
          buffer.shrink("too large");
        } else {
          expect(buffer.sequence).toBe(written.length);
          written.push(...texts(records));
          buffer.acknowledge();
        }
      }
      const numbers = [...sizes.keys()];
      const expected = numbers.filter((index) => (sizes[index] ?? 0) <= broker).map(String);
      expect(written).toEqual(expected);
      for (const [index, call] of calls.entries()) {
        expect(call.result).toHaveLength((sizes[index] ?? 0) > broker ? 1 : 0);
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

describe("a buffer with a record that may be compressed", () => {
  const large = (): OutgoingRecord => ({
    ...outgoing("x".repeat(5_000)),
    compression: { bytes: null },
  });
  const added = (buffer: PartitionBuffer, record: OutgoingRecord): Sent => {
    const call = send(buffer, []);
    call.unacknowledged = 1;
    buffer.add(record, 5_000, call);
    return call;
  };

  test("compresses it once it is rejected, and sends it as a batch of its own", async () => {
    const buffer = new PartitionBuffer(laneTopic(10_000), 0);
    const record = large();
    const call = added(buffer, record);
    buffer.cut();
    send(buffer, ["next"]);
    buffer.shrink("too large");
    expect(call.result).toBe(null);
    const { records, bytes } = buffer.cut();
    expect(records).toEqual([record]);
    expect(bytes).toBeLessThan(200);
    const [read] = await decode(await encodeBatch(records));
    expect(read).toMatchObject({ offset: 0, timestampMs: 1_700_000_000_000, value: record.value });
    buffer.acknowledge();
    expect(call.result).toEqual([]);
    expect(texts(buffer.cut().records)).toEqual(["next"]);
  });

  test("gives the record back when it is rejected again", () => {
    const buffer = new PartitionBuffer(laneTopic(10_000), 0);
    const record = large();
    const call = added(buffer, record);
    for (const error of ["first", "second"]) {
      buffer.cut();
      buffer.shrink(error);
    }
    expect(call.result).toEqual([{ record, error: "second" }]);
    expect(buffer.isEmpty).toBe(true);
  });

  test("that may be written already: it is compressed under a new id", () => {
    const buffer = new PartitionBuffer(laneTopic(10_000), 0);
    added(buffer, large());
    buffer.cut();
    buffer.idFor(firstId);
    buffer.recordFailure(true);
    buffer.shrink("too large");
    buffer.cut();
    expect(buffer.idFor(secondId)).toBe(secondId);
    expect(buffer.sequence).toBe(0);
  });

  test("that waits as bytes", async () => {
    const record = packRecord(large());
    const buffer = new PartitionBuffer(laneTopic(10_000), 0);
    added(buffer, record);
    buffer.cut();
    buffer.shrink("too large");
    const [read] = await decode(await encodeBatch(buffer.cut().records));
    expect(read?.value).toEqual(large().value);
  });
});
