import { expect, test } from "vitest";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import type { AssignedPartition, RejectedRecord } from "../../../../src/kafka/port.ts";
import { parseLedgerRecord } from "../../../../src/router/ledger/ledger-record.ts";
import { ProcessLedger } from "../../../../src/router/ledger/process-ledger.ts";
import { type BookedPartition, StageLedger } from "../../../../src/router/ledger/stage-ledger.ts";
import { identityOf } from "../../../../src/router/ledger/tallies.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const place = { topic: "calls", partition: 0, topicId: "id" };

class Broker {
  readonly sends: (readonly OutgoingRecord[])[] = [];
  readonly producer = {
    send: async (records: readonly OutgoingRecord[]): Promise<readonly RejectedRecord[]> => {
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
  const { producer } = broker;
  const process = new ProcessLedger({
    producer,
    clock: new ManualClock(),
    topic: "ledger",
    process: "p",
  });
  const ledger = new StageLedger(process, "route");
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

test("an outcome is written although no record of its partition is finished yet", async () => {
  const broker = new Broker();
  const { ledger, assigned } = ledgerOn(broker);
  oneCall(assigned);
  await ledger.beforeCommit([{ ...place, partition: 1, ranges: [[0, 2]] }], false);
  expect(broker.counts()).toEqual([[1]]);
});

test("very many sums are written as several records, and only the first one has the ranges", async () => {
  const broker = new Broker();
  const { ledger, assigned } = ledgerOn(broker);
  for (let bin = 0; bin < 9_000; bin += 1) {
    assigned.book?.add("crm", "queued", { ...identityOf("m", 0), bin });
  }
  await ledger.beforeCommit([{ ...place, ranges: [[0, 9_000]] }], false);
  expect(broker.counts()).toEqual([[4_000, 4_000, 1_000]]);
  const parsed = broker.sends[0]?.map(({ value }) => parseLedgerRecord(value));
  expect(parsed?.map((record) => record?.read.length)).toEqual([1, 0, 0]);
  expect(parsed?.map((record) => record?.number)).toEqual([1, 2, 3]);
});
