import { expect, test } from "vitest";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { AssignedPartition, RejectedRecord } from "../../../../src/kafka/port.ts";
import { parseLedgerRecord } from "../../../../src/router/ledger/ledger-record.ts";
import {
  type BookedPartition,
  ProcessLedger,
  StageLedger,
} from "../../../../src/router/ledger/stage-ledger.ts";
import { identityOf } from "../../../../src/router/ledger/tallies.ts";

const place = { topic: "calls", partition: 0, topicId: "id" };

class Broker {
  readonly sends: (readonly OutgoingRecord[])[] = [];
  blocked: RejectedRecord["blocked"] | "closed" | "too large" = undefined;

  readonly producer = {
    send: async (records: readonly OutgoingRecord[]): Promise<readonly RejectedRecord[]> => {
      const { blocked } = this;
      if (blocked === "closed") throw new Error("closed");
      if (blocked === "too large") return records.map((record) => ({ record, error: "too large" }));
      if (blocked !== undefined) return records.map((record) => ({ record, error: "no", blocked }));
      this.sends.push(records);
      return [];
    },
  };

  /** The number of delivered calls in each record, by send. */
  counts(): number[][] {
    return this.sends.map((records) =>
      records.map(({ value }) => {
        let count = 0;
        parseLedgerRecord(value)?.tallies.each((_bin, _destination, _outcome, sum) => {
          count += sum.count;
        });
        return count;
      }),
    );
  }
}

function ledgerOn(broker: Broker): { ledger: StageLedger; assigned: BookedPartition } {
  const ledger = new StageLedger(new ProcessLedger(broker.producer, "ledger", "p"), "route");
  let assigned: BookedPartition | null = null;
  const idle = { take: () => undefined, drain: () => Promise.resolve() };
  ledger.booked((booked) => {
    assigned = booked;
    return idle;
  })({ ...place, topicId: () => "id" } as unknown as AssignedPartition);
  if (assigned === null) throw new Error("nothing was assigned");
  return { ledger, assigned };
}

const oneCall = (assigned: BookedPartition) =>
  assigned.book?.add("crm", "queued", identityOf("m", 0));

test("outcomes are written with the ranges to which they belong, each once", async () => {
  const broker = new Broker();
  const { ledger, assigned } = ledgerOn(broker);
  oneCall(assigned);
  oneCall(assigned);
  await ledger.beforeCommit([{ ...place, ranges: [[0, 2]] }], false);
  oneCall(assigned);
  await ledger.beforeCommit([{ ...place, ranges: [[2, 3]] }], true);
  expect(broker.counts()).toEqual([[2], [1]]);
});

test("records wait for a topic that is not writable, and offsets are committed all the same", async () => {
  const broker = new Broker();
  const { ledger, assigned } = ledgerOn(broker);
  broker.blocked = "missing";
  oneCall(assigned);
  await ledger.beforeCommit([{ ...place, ranges: [[0, 1]] }], false);
  await ledger.beforeCommit([{ ...place, ranges: [[1, 2]] }], false);
  expect(broker.sends).toEqual([]);
  broker.blocked = undefined;
  await ledger.beforeCommit([{ ...place, ranges: [[2, 3]] }], false);
  expect(broker.counts()).toEqual([[1, 0, 0]]);
});

test("no more than 1,000 records wait, and the oldest are dropped", async () => {
  const broker = new Broker();
  const { ledger } = ledgerOn(broker);
  broker.blocked = "unavailable";
  for (let at = 0; at < 1_100; at += 1) {
    await ledger.beforeCommit([{ ...place, ranges: [[at, at + 1]] }], false);
  }
  broker.blocked = undefined;
  await ledger.beforeCommit([{ ...place, ranges: [[1_100, 1_101]] }], false);
  expect(broker.sends[0]).toHaveLength(1_000);
  expect(parseLedgerRecord(broker.sends[0]?.[0]?.value ?? null)?.read[0]?.ranges).toEqual([
    [101, 102],
  ]);
});

test.each(["closed", "too large"] as const)(
  "nothing waits if the producer says: %s",
  async (why) => {
    const broker = new Broker();
    const { ledger } = ledgerOn(broker);
    broker.blocked = why;
    await ledger.beforeCommit([{ ...place, ranges: [[0, 1]] }], false);
    broker.blocked = undefined;
    await ledger.beforeCommit([{ ...place, ranges: [[1, 2]] }], false);
    expect(broker.sends.map((records) => records.length)).toEqual([1]);
  },
);
