import { beforeEach, describe, expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { Admission } from "../../../../src/kafka/consume/admission.ts";
import { ByteBudget } from "../../../../src/kafka/consume/byte-budget.ts";
import { OwnedPartition } from "../../../../src/kafka/consume/owned-partition.ts";
import type { FetchedBatch } from "../../../../src/kafka/membership.ts";
import type { ConsumeOptions, PartitionHandler } from "../../../../src/kafka/port.ts";
import { fetchedBatch } from "../../../support/kafka-client/fetched-batch.ts";

const TOPIC_ID = "an-id";
let taken: number[] = [];
let budget = new ByteBudget(1_000_000, null);

beforeEach(() => {
  taken = [];
  budget = new ByteBudget(1_000_000, null);
});

const OWNER = {
  finished: () => undefined,
  held: () => undefined,
  admits: () => undefined,
  isOurs: () => Promise.resolve(true),
};

function owned(
  recordsMax: ConsumeOptions["partitionRecordsMax"] = 100,
  committed = { offset: -1, metadata: "" },
  admit: PartitionHandler["admit"] = (record) => record,
  admits = OWNER.admits,
  followers = () => 0,
): OwnedPartition {
  const partition = new OwnedPartition({
    passes: false,
    topic: "t",
    partition: 0,
    recordsMax,
    budget,
    owner: { ...OWNER, admits },
    onAssigned: () => ({
      admit,
      get followers() {
        return followers();
      },
      take: (records) => {
        taken.push(...records.map(({ offset }) => offset));
      },
      drain: () => Promise.resolve(),
    }),
  });
  partition.committedAt({ topic: "t", partition: 0, topicId: TOPIC_ID, ...committed });
  return partition;
}

/** Returns one partition of the response to a fetch. */
function batch(
  from: number,
  offsets: readonly number[],
  { last = offsets.at(-1) ?? from - 1, end = 100 } = {},
): FetchedBatch {
  return fetchedBatch(offsets, { from, end, last: last < from ? null : last });
}

describe("an owned partition", () => {
  test("begins at the fetched offset and skips what the commit's metadata calls finished", () => {
    const committed = { offset: 5, metadata: `sw1:5:${TOPIC_ID}:BC` };
    const partition = owned(100, committed);
    expect(partition.offer(batch(5, [5, 6, 7, 8]), null)).toBe(true);
    expect(partition.handOver()).toBe("empty");
    expect(taken).toEqual([5, 8]);
  });

  test("ignores metadata when reading begins elsewhere", () => {
    const partition = owned(100, { offset: 5, metadata: `sw1:5:${TOPIC_ID}:BC` });
    partition.offer(batch(6, [6, 7]), null);
    partition.handOver();
    expect(taken).toEqual([6, 7]);
  });

  test("commits past control records and gaps once everything before them is finished", () => {
    const partition = owned();
    partition.offer(batch(0, [0, 2], { last: 4 }), null);
    partition.handOver();
    partition.finish(2);
    expect(partition.toCommit()).toEqual({ offset: 0, metadata: `sw1:0:${TOPIC_ID}:BE` });
    partition.finish(0);
    expect(partition.toCommit()).toEqual({ offset: 5, metadata: `sw1:5:${TOPIC_ID}:` });
    partition.wasCommitted({ offset: 5, metadata: `sw1:5:${TOPIC_ID}:` });
    expect(partition.toCommit()).toBeNull();
  });

  test("a batch of control records alone moves the position", () => {
    const partition = owned();
    partition.offer(batch(0, [], { last: 3 }), null);
    partition.handOver();
    expect(partition.progress()).toMatchObject({ position: 4, inFlight: 0, end: 100 });
  });

  test("keeps what there is no room for, and hands it over later", () => {
    const partition = owned(2);
    partition.offer(batch(0, [0, 1, 2, 3]), null);
    expect(partition.handOver()).toBe("full");
    expect([taken, partition.hasBacklog, partition.isHalfEmpty]).toEqual([[0, 1], true, false]);
    partition.finish(0);
    expect(partition.handOver()).toBe("full");
    partition.finish(1);
    expect(partition.handOver()).toBe("empty");
    expect([taken, partition.hasBacklog]).toEqual([[0, 1, 2, 3], false]);
    partition.finish(2);
    expect(partition.isHalfEmpty).toBe(true);
  });

  test("shares the bytes with other partitions, and gives them back", () => {
    budget = new ByteBudget(150, null);
    const [one, other] = [owned(), owned()];
    one.offer(batch(0, [0, 1]), null);
    other.offer(batch(0, [0]), null);
    expect([one.handOver(), other.handOver()]).toEqual(["empty", "full"]);
    one.fence();
    expect(budget.inFlight).toBe(0);
    expect(other.handOver()).toBe("empty");
    other.finish(0);
    expect(budget.inFlight).toBe(0);
  });

  test("keeps what there are no bytes for, and hands it over later", () => {
    budget = new ByteBudget(150, null);
    const partition = owned();
    partition.offer(batch(0, [0, 1, 2, 3]), null);
    for (const offset of [0, 1, 2, 3]) {
      partition.handOver();
      partition.finish(offset);
    }
    expect(taken).toEqual([0, 1, 2, 3]);
    expect(partition.toCommit()).toMatchObject({ offset: 4 });
  });

  test("hands over at most 1,000 records at once", () => {
    const partition = owned(5_000);
    partition.offer(batch(0, [...Array(2_500).keys()], { end: 2_500 }), null);
    expect([partition.handOver(), taken.length]).toEqual(["more", 1_000]);
    expect([partition.handOver(), taken.length]).toEqual(["more", 2_000]);
    expect([partition.handOver(), taken.length]).toEqual(["empty", 2_500]);
  });
});

test("records that wait for others do not count, while twice the bytes in flight would have room", () => {
  budget = new ByteBudget(74 * 8, null);
  const others = () => taken.filter((offset) => offset >= 4).length;
  const followers = () => Math.max(0, taken.length - others() - 1);
  const partition = owned(2, undefined, undefined, undefined, followers);
  partition.offer(batch(0, [0, 1, 2, 3, 4, 5, 6]), null);
  expect(partition.handOver()).toBe("more");
  expect(partition.handOver()).toBe("more");
  expect(partition.handOver()).toBe("more");
  expect(partition.handOver()).toBe("full");
  expect(taken).toEqual([0, 1, 2, 3, 4]);
});

test("a changed limit on records applies to the next ones", () => {
  let recordsMax = 2;
  const partition = owned(() => recordsMax);
  partition.offer(batch(0, [0, 1, 2, 3, 4]), null);
  expect(partition.handOver()).toBe("full");
  recordsMax = 4;
  expect(partition.isHalfEmpty).toBe(true);
  expect(partition.handOver()).toBe("full");
  expect(taken).toEqual([0, 1, 2, 3]);
  recordsMax = 3;
  partition.finish(0);
  expect(partition.handOver()).toBe("full");
  partition.finish(1);
  expect(partition.handOver()).toBe("empty");
});

test.each([
  ["retention has deleted a finished record, too", 7, 100, [8]],
  ["retention has deleted the unfinished record", 6, 100, [8]],
  ["retention has deleted everything that was finished", 8, 100, [8]],
  ["the log was truncated and written again", 3, 100, [3, 4, 5, 6, 7, 8]],
  ["the log ends before what was finished", 6, 7, [6, 7, 8]],
])("after a reset, when %s, skips what is certainly finished", (_name, start, end, expected) => {
  const partition = owned(100, { offset: 5, metadata: `sw1:5:${TOPIC_ID}:BC` });
  for (let looks = 0; looks < 2; looks += 1) {
    const reset = { offset: -2, metadata: "" };
    partition.committedAt({ topic: "t", partition: 0, topicId: TOPIC_ID, ...reset });
  }
  const offsets = [3, 4, 5, 6, 7, 8].filter((offset) => offset >= start);
  partition.offer(batch(start, offsets, { end }), null);
  partition.handOver();
  expect(taken).toEqual(expected);
  for (const offset of expected) partition.finish(offset);
  expect(partition.toCommit()).toMatchObject({ offset: 9 });
});

test("held at an offset a partition is committed no further, and says to where records were worked on", () => {
  const partition = owned();
  partition.offer(batch(0, [0, 1, 2, 3, 4]), null);
  partition.handOver();
  for (const offset of [0, 1, 3]) partition.finish(offset);
  partition.hold(1);
  const held = { offset: 1, metadata: `sw1:1:${TOPIC_ID}:~1` };
  expect(partition.toCommit()).toEqual(held);
  partition.wasCommitted(held);
  expect(partition.toCommit()).toBeNull();
  expect(partition.progress().position).toBe(1);
  partition.hold(null);
  expect(partition.toCommit()).toEqual({ offset: 2, metadata: `sw1:2:${TOPIC_ID}:BB` });
});

describe("an owned partition whose log or owner changes", () => {
  test("passes what retention has removed, and says when the log was cut off below", () => {
    const partition = owned();
    partition.offer(batch(0, [0, 1]), null);
    expect(partition.offer(batch(10, [10]), null)).toBe(true);
    partition.handOver();
    for (const offset of [0, 1]) partition.finish(offset);
    expect(partition.progress().position).toBe(10);
    expect(partition.offer(batch(3, [3]), null)).toBe(false);
  });

  test("once fenced it neither finishes, nor hands over, nor commits", () => {
    const partition = owned(2);
    partition.offer(batch(0, [0, 1, 2]), null);
    partition.handOver();
    partition.finish(0);
    partition.fence();
    partition.fence();
    expect(partition.finish(1)).toBe(false);
    expect([partition.handOver(), partition.toCommit(), taken]).toEqual(["empty", null, [0, 1]]);
    expect(budget.inFlight).toBe(0);
  });

  test("passes what retention has removed although nothing is there yet", () => {
    const partition = owned();
    partition.offer(batch(0, [0, 1]), null);
    partition.offer(batch(10, []), null);
    partition.handOver();
    for (const offset of [0, 1]) partition.finish(offset);
    expect(partition.toCommit()).toEqual({ offset: 10, metadata: `sw1:10:${TOPIC_ID}:` });
  });
});

describe("the topic's id", () => {
  const idOnly = (offset: number) => `sw1:${offset}:${TOPIC_ID}:`;

  test("costs no commit of its own where another tool has committed without it", () => {
    const partition = owned(100, { offset: 5, metadata: "" });
    partition.offer(batch(5, []), null);
    expect(partition.toCommit()).toBeNull();
    partition.offer(batch(5, [5]), null);
    partition.handOver();
    partition.finish(5);
    expect(partition.toCommit()).toEqual({ offset: 6, metadata: idOnly(6) });
  });

  test("costs none where nothing is new", () => {
    const partition = owned(100, { offset: 5, metadata: idOnly(5) });
    partition.offer(batch(5, []), null);
    expect(partition.toCommit()).toBeNull();
  });
});

describe("what was finished and not committed, when others had the partition meanwhile", () => {
  const remembered = { offset: 3, metadata: `sw1:3:${TOPIC_ID}:BB`, topicId: TOPIC_ID };

  // Another member owned the partition meanwhile, and finished what this one had left.
  test("is added to what the group knows: neither comes again", () => {
    const partition = owned(100, { offset: 1, metadata: `sw1:1:${TOPIC_ID}:DC` });
    partition.offer(batch(1, [1, 2, 3, 4, 5, 6]), remembered);
    partition.handOver();
    expect(taken).toEqual([3, 6]);
  });

  test("counts where the group has come further in the meantime", () => {
    const partition = owned(100, { offset: 2, metadata: "" });
    const earlier = { offset: 1, metadata: `sw1:1:${TOPIC_ID}:CB`, topicId: TOPIC_ID };
    partition.offer(batch(2, [2, 3, 4]), earlier);
    partition.handOver();
    expect(taken).toEqual([2, 4]);
  });
});

describe("what was finished and not committed", () => {
  const remembered = { offset: 3, metadata: `sw1:3:${TOPIC_ID}:BB`, topicId: TOPIC_ID };

  test("is skipped when the partition comes back", () => {
    const partition = owned(100, { offset: 1, metadata: "" });
    partition.offer(batch(1, [1, 2, 3, 4, 5]), remembered);
    partition.handOver();
    expect(taken).toEqual([3, 5]);
    expect(partition.toCommit()).not.toBeNull();
  });

  test("is not used if the broker reports no topic ids: it may be another topic", () => {
    const partition = owned(100, { offset: 1, metadata: "" });
    partition.committedAt({ topic: "t", partition: 0, topicId: null, offset: 1, metadata: "" });
    const unknown = { offset: 3, metadata: "sw1:3::BB", topicId: "" };
    partition.offer(batch(1, [1, 2, 3, 4, 5]), unknown);
    partition.handOver();
    expect(taken).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    ["another topic of the same name", { ...remembered, topicId: "another" }, {}],
    ["a broker without topic ids", { ...remembered, topicId: "" }, {}],
    ["a log that is shorter now", remembered, { end: 2 }],
    ["a commit of somebody who came further", { ...remembered, offset: 0 }, {}],
  ])("is not used for %s", (_name, given, options) => {
    const partition = owned(100, { offset: 1, metadata: "" });
    partition.offer(batch(1, [1, 2, 3, 4, 5], options), given);
    expect(partition.progress().position).toBe(1);
    partition.handOver();
    expect(taken).toEqual([1, 2, 3, 4, 5]);
  });

  test("a record that is not admitted waits, with those behind it, and takes no room", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let mayCome = false;
    let asked = 0;
    let admits = 0;
    // An earlier owner has finished offset 6, so it is not passed to `admit`.
    const committed = { offset: 5, metadata: `sw1:5:${TOPIC_ID}:BB` };
    const partition = owned(
      100,
      committed,
      (record) => {
        asked += 1;
        return record.offset < 7 || mayCome ? record : promise;
      },
      () => {
        admits += 1;
      },
    );
    partition.offer(batch(5, [5, 6, 7, 8]), null);
    expect(partition.handOver()).toBe("full");
    const { inFlight } = budget;
    expect({ taken, asked, isWaiting: partition.isWaiting }).toEqual({
      taken: [5],
      asked: 2,
      isWaiting: true,
    });
    expect(inFlight).toBe(74);
    expect(partition.handOver()).toBe("full");
    expect(asked).toBe(2);
    mayCome = true;
    resolve();
    await promise;
    expect({ admits, isWaiting: partition.isWaiting }).toEqual({ admits: 1, isWaiting: false });
    expect(partition.handOver()).toBe("empty");
    expect(taken).toEqual([5, 7, 8]);
  });
});

test("a record that is not admitted comes with those that were fetched after it", () => {
  const ahead: (readonly number[])[] = [];
  const partition = owned(100, { offset: 5, metadata: "" }, (record, rest) => {
    ahead.push([...(rest?.() ?? [])].map(({ offset }) => offset));
    return record.offset < 6 ? record : new Promise<void>(() => undefined);
  });
  partition.offer(batch(5, [5, 6, 7]), null);
  partition.offer(batch(8, [8, 9]), null);
  partition.handOver();
  expect(ahead).toEqual([
    [6, 7, 8, 9],
    [7, 8, 9],
  ]);
});

// A test per row of the file's table.

const RECORD = {
  ...{ topic: "t", partition: 0, offset: 0, timestampMs: 0, key: null, value: null, headers: [] },
} satisfies IncomingRecord;

function handler(admit?: PartitionHandler["admit"]): PartitionHandler {
  const base = { take: () => undefined, drain: () => Promise.resolve() };
  return admit === undefined ? base : { ...base, admit };
}

test("a handler that does not say admits every record, as it is", () => {
  const admission = new Admission(handler(), () => undefined);
  expect(admission.admit(RECORD)).toBe(RECORD);
  expect(admission.isWaiting).toBe(false);
});

test("the record that the handler gives is handed over", () => {
  const other = { ...RECORD, value: Buffer.from("other") };
  const admission = new Admission(
    handler(() => other),
    () => undefined,
  );
  expect(admission.admit(RECORD)).toBe(other);
});

test("with a promise the record waits until that resolves; then somebody is reported, once", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let reported = 0;
  const admission = new Admission(
    handler(() => promise),
    () => {
      reported += 1;
    },
  );
  expect(admission.admit(RECORD)).toBeNull();
  expect({ isWaiting: admission.isWaiting, reported }).toEqual({ isWaiting: true, reported: 0 });
  resolve();
  await promise;
  expect({ isWaiting: admission.isWaiting, reported }).toEqual({ isWaiting: false, reported: 1 });
});
