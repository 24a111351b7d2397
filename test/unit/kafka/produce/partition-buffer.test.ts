import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { RefusedRecord } from "../../../../src/kafka/port.ts";
import {
  type LaneTopic,
  ProduceLane,
  type SendCall,
} from "../../../../src/kafka/produce/partition-buffer.ts";
import type { ProducerId } from "../../../../src/kafka/produce/producer-id.ts";
import { packRecord } from "../../../../src/kafka/wire/pack-record.ts";
import { RecordBundle } from "../../../../src/kafka/wire/record-bundle.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { decode, encodeBatch } from "../../../support/build/record-batches.ts";

function outgoing(value: string): OutgoingRecord {
  return { topic: "t", key: null, value: Buffer.from(value), headers: [] };
}

function laneTopic(batchMaxBytes: number): LaneTopic & { batchMaxBytes: number } {
  return {
    name: "t",
    batchMaxBytes,
    batchWasTooLarge(bytes) {
      this.batchMaxBytes = Math.min(this.batchMaxBytes, bytes / 2);
    },
  };
}

interface Sent extends SendCall {
  result: readonly RefusedRecord[] | null;
}

function send(lane: ProduceLane, values: readonly string[], bytes = 10): Sent {
  const call: Sent = {
    place: -1,
    unacknowledged: values.length,
    refused: [],
    giveBack: false,
    result: null,
    resolve: (refused) => {
      call.result = refused;
    },
    reject: () => undefined,
  };
  for (const value of values) lane.add(outgoing(value), bytes, call);
  return call;
}

function texts(records: readonly OutgoingRecord[]): (string | undefined)[] {
  return records.map(({ value }) => value?.toString());
}

const firstId: ProducerId = { producerId: 1, producerEpoch: 0 };
const secondId: ProducerId = { producerId: 2, producerEpoch: 0 };

describe("a lane", () => {
  test("cuts what fits, and at least one record", () => {
    const lane = new ProduceLane(laneTopic(25), 0);
    send(lane, ["a", "b", "c"]);
    send(lane, ["large"], 100);
    expect(texts(lane.cut().records)).toEqual(["a", "b"]);
    lane.acknowledged();
    expect(texts(lane.cut().records)).toEqual(["c"]);
    lane.acknowledged();
    expect(texts(lane.cut().records)).toEqual(["large"]);
  });

  test("resolves a caller with its last record, numbers batches, and is empty then", () => {
    const lane = new ProduceLane(laneTopic(25), 0);
    const first = send(lane, ["a", "b", "c"]);
    const second = send(lane, ["d"]);
    lane.cut();
    lane.acknowledged();
    expect([first.result, second.result, lane.sequence]).toEqual([null, null, 2]);
    lane.cut();
    lane.acknowledged();
    expect([first.result, second.result, lane.sequence]).toEqual([[], [], 4]);
    expect(lane.isEmpty).toBe(true);
  });

  test("repeats a batch that may be written exactly as it was, whatever later tries come to", () => {
    const lane = new ProduceLane(laneTopic(1_000), 0);
    send(lane, ["a"]);
    lane.cut();
    lane.failed(true);
    send(lane, ["b"]);
    expect(texts(lane.cut().records)).toEqual(["a"]);
    lane.failed(false);
    expect(texts(lane.cut().records)).toEqual(["a"]);
    expect(lane.sequence).toBe(0);
    lane.acknowledged();
    expect(texts(lane.cut().records)).toEqual(["b"]);
  });

  test("adds to a batch that was surely not written", () => {
    const lane = new ProduceLane(laneTopic(1_000), 0);
    send(lane, ["a"]);
    lane.cut();
    lane.failed(false);
    send(lane, ["b"]);
    expect(texts(lane.cut().records)).toEqual(["a", "b"]);
  });

  test("counts failures until something is acknowledged", () => {
    const lane = new ProduceLane(laneTopic(1_000), 0);
    send(lane, ["a"]);
    lane.cut();
    lane.failed(false);
    lane.failed(true);
    expect(lane.failures).toBe(2);
    lane.acknowledged();
    expect(lane.failures).toBe(0);
  });

  test("begins to number anew with another producer id, but not in the midst of a batch", () => {
    const lane = new ProduceLane(laneTopic(25), 0);
    const cut = (current: ProducerId) => {
      lane.cut();
      return [lane.idFor(current), lane.sequence];
    };
    send(lane, ["a", "b", "c", "d", "e"]);
    expect(cut(firstId)).toEqual([firstId, 0]);
    lane.acknowledged();
    expect(cut(firstId)).toEqual([firstId, 2]);
    lane.failed(true);
    expect(cut(secondId)).toEqual([firstId, 2]);
    lane.acknowledged();
    expect(cut(secondId)).toEqual([secondId, 0]);
  });
});

function bundleOf(values: readonly string[]): RecordBundle {
  const bundle = new RecordBundle("t");
  bundle.begin(0);
  for (const value of values) {
    bundle.open(Buffer.from(value), value.length).text(value);
    bundle.end();
  }
  return bundle;
}

describe("a bundle in a lane", () => {
  const small = () => laneTopic(1_000);

  function laneOf(bundle: RecordBundle, topic = small()) {
    const lane = new ProduceLane(topic, 0);
    send(lane, ["before"]);
    const call = { ...send(lane, []), unacknowledged: 1 };
    call.resolve = (refused) => {
      call.result = refused;
    };
    lane.add(bundle, bundle.length, call);
    const behind = send(lane, ["behind"]);
    return { lane, call, behind };
  }

  test("is a batch of its own, and counts as all of its records", () => {
    const bundle = bundleOf(["a", "b", "c"]);
    const { lane, call, behind } = laneOf(bundle);
    expect(texts(lane.cut().records)).toEqual(["before"]);
    lane.idFor(firstId);
    lane.acknowledged();
    expect(lane.cut()).toEqual({ records: [bundle], bytes: bundle.length });
    expect(lane.sequence).toBe(1);
    lane.acknowledged();
    expect(call.result).toEqual([]);
    expect(lane.sequence).toBe(4);
    expect(texts(lane.cut().records)).toEqual(["behind"]);
    lane.acknowledged();
    expect(behind.result).toEqual([]);
  });

  test("that is too large for the broker is sent as its records, and its call waits for all", () => {
    const { lane, call } = laneOf(bundleOf(["a", "b", "c"]), small());
    lane.cut();
    lane.acknowledged();
    lane.cut();
    lane.tooLarge("too large");
    const written: (string | undefined)[] = [];
    while (!lane.isEmpty) {
      expect(call.result).toBeNull();
      written.push(...texts(lane.cut().records));
      lane.acknowledged();
      if (written.includes("c")) break;
    }
    expect(written.slice(0, 3)).toEqual(["a", "b", "c"]);
    expect(call.result).toEqual([]);
  });

  test("that may be written is repeated as it was", () => {
    const bundle = bundleOf(["a", "b"]);
    const topic = small();
    const { lane } = laneOf(bundle, topic);
    lane.cut();
    lane.acknowledged();
    lane.cut();
    lane.failed(true);
    topic.batchMaxBytes = 1;
    expect(lane.cut().records).toEqual([bundle]);
  });

  test("comes back as it is where its partition takes nothing", () => {
    const bundle = bundleOf(["a", "b"]);
    const { lane, call } = laneOf(bundle);
    const wanted = { ...call, giveBack: true, refused: [] };
    lane.giveUp();
    lane.add(bundle, bundle.length, wanted);
    lane.block.refused("unavailable", "LEADER_NOT_AVAILABLE", 0);
    lane.giveBack(lane.block);
    expect(wanted.refused).toMatchObject([{ record: bundle, blocked: "unavailable" }]);
    expect(lane.isEmpty).toBe(true);
  });
});

test("a lane whose id is refused takes the next one, whatever may be written", () => {
  const lane = new ProduceLane(laneTopic(25), 0);
  send(lane, ["a", "b", "c"]);
  lane.cut();
  lane.idFor(firstId);
  lane.acknowledged();
  lane.cut();
  lane.idFor(firstId);
  lane.failed(true);
  lane.idRefused();
  lane.cut();
  expect([lane.idFor(secondId), lane.sequence, lane.failures]).toEqual([secondId, 0, 2]);
});

test("whatever the broker takes: exactly the records above it are refused, the rest in order", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 60 });
  const limits = fc.record({ broker: fc.integer({ min: 1, max: 300 }), sizes });
  fc.assert(
    fc.property(limits, ({ broker, sizes }) => {
      const lane = new ProduceLane(laneTopic(1_000), 0);
      const calls = sizes.map((size, index) => send(lane, [`${index}`], size));
      const written: (string | undefined)[] = [];
      for (let tries = 0; !lane.isEmpty; tries += 1) {
        expect(tries).toBeLessThan(200);
        const { records, bytes } = lane.cut();
        if (bytes > broker) {
          lane.tooLarge("too large");
        } else {
          expect(lane.sequence).toBe(written.length);
          written.push(...texts(records));
          lane.acknowledged();
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

describe("a lane with a record that may be compressed", () => {
  const large = (): OutgoingRecord => ({
    ...outgoing("x".repeat(5_000)),
    compression: { bytes: null },
  });
  const added = (lane: ProduceLane, record: OutgoingRecord): Sent => {
    const call = send(lane, []);
    call.unacknowledged = 1;
    lane.add(record, 5_000, call);
    return call;
  };

  test("compresses it once it is refused, and sends it as a batch of its own", async () => {
    const lane = new ProduceLane(laneTopic(10_000), 0);
    const record = large();
    const call = added(lane, record);
    lane.cut();
    send(lane, ["next"]);
    lane.tooLarge("too large");
    expect(call.result).toBe(null);
    const { records, bytes } = lane.cut();
    expect(records).toEqual([record]);
    expect(bytes).toBeLessThan(200);
    const [read] = await decode(await encodeBatch(records));
    expect(read).toMatchObject({ offset: 0, timestampMs: 1_700_000_000_000, value: record.value });
    lane.acknowledged();
    expect(call.result).toEqual([]);
    expect(texts(lane.cut().records)).toEqual(["next"]);
  });

  test("gives the record back when it is refused again", () => {
    const lane = new ProduceLane(laneTopic(10_000), 0);
    const record = large();
    const call = added(lane, record);
    for (const error of ["first", "second"]) {
      lane.cut();
      lane.tooLarge(error);
    }
    expect(call.result).toEqual([{ record, error: "second" }]);
    expect(lane.isEmpty).toBe(true);
  });

  test("that may be written already: it is compressed under a new id", () => {
    const lane = new ProduceLane(laneTopic(10_000), 0);
    added(lane, large());
    lane.cut();
    lane.idFor(firstId);
    lane.failed(true);
    lane.tooLarge("too large");
    lane.cut();
    expect(lane.idFor(secondId)).toBe(secondId);
    expect(lane.sequence).toBe(0);
  });

  test("that waits as bytes", async () => {
    const record = packRecord(large());
    const lane = new ProduceLane(laneTopic(10_000), 0);
    added(lane, record);
    lane.cut();
    lane.tooLarge("too large");
    const [read] = await decode(await encodeBatch(lane.cut().records));
    expect(read?.value).toEqual(large().value);
  });
});
