import { expect, test } from "vitest";

import type { DestinationId } from "../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { KafkaSample, SeenRecord } from "../../drill/kafka-truth.ts";
import type { Look } from "../../drill/look.ts";
import { waitingSignals } from "../../drill/waiting-signals.ts";

const CRM = "crm" as DestinationId;
const topics = topicNames("t.");
const groups = groupNames("t.");
const DELAY = { name: "2s", topic: topics.delays(2_000), group: groups.delay("2s") };
const WRITTEN_MS = 1_000_000;
const DUE_MS = 1_002_000;

/**
 * Two deliveries for crm and one for another destination wait in the delay topic of 2 s; the first one is returned
 * later.
 */
function look(said: Readonly<Record<string, number>>, commits: readonly number[] = [0, 0]): Look {
  const records = ["crm", "crm", "other"].map(
    (destination, offset): SeenRecord => ({
      topic: DELAY.topic,
      partition: 0,
      offset,
      writtenAtMs: WRITTEN_MS + offset * 100,
      seenAtMs: 0,
      headers: new Map([
        ["switchyard-destination", destination],
        ["switchyard-due-at", `${DUE_MS + offset * 100}`],
      ]),
    }),
  );
  const samples = commits.map(
    (offset, at): KafkaSample => ({
      fromMs: at * 1_000,
      toMs: at * 1_000 + 1,
      ends: new Map([[DELAY.topic, [3]]]),
      committed: new Map([[DELAY.group, new Map([[DELAY.topic, [offset]]])]]),
    }),
  );
  const metrics = Object.entries(said).map(([name, value]) => ({
    name,
    labels: { destination: CRM, delay: DELAY.name },
    value,
  }));
  // This is the count of `switchyard status`. The tests are about the other values.
  const awaitingRetry = Math.max(0, 2 - (commits.at(-1) ?? 0));
  const truth = { samples, records, product: { topics, groups } };
  const row = { destination: CRM, awaitingRetry };
  const status = { report: { destinations: [row] } };
  return { fromMs: 0, toMs: 1_000, metrics, status, truth } as unknown as Look;
}

const WAITING = "switchyard_deliveries_awaiting_retry";
const NEXT_DUE = "switchyard_deliveries_next_retry_timestamp_seconds";
const OLDEST = "switchyard_deliveries_awaiting_retry_oldest_timestamp_seconds";
const UNKNOWN = "switchyard_delay_uncounted_partitions";
const TRUE = {
  [WAITING]: 2,
  [NEXT_DUE]: DUE_MS / 1_000,
  [OLDEST]: WRITTEN_MS / 1_000,
  [UNKNOWN]: 0,
};

function wrong(said: Readonly<Record<string, number>>, commits?: readonly number[]) {
  return waitingSignals(look(said, commits), CRM)
    .filter(({ ok }) => !ok)
    .map(({ signal }) => signal);
}

test("what is true is found to be true", () => {
  expect(wrong(TRUE)).toEqual([]);
});

test.each([
  ["another number, such as that of all destinations", { [WAITING]: 3 }, "metrics: waiting in 2s"],
  ["a later time, as if the first did not wait", { [NEXT_DUE]: 1_003 }, "metrics: next due"],
  ["another time of writing", { [OLDEST]: 999 }, "metrics: oldest waiting"],
  ["a retry delay that is not known", { [UNKNOWN]: 1 }, "metrics: retry delays not known"],
])("%s is found", (_name, changed, signal) => {
  expect(wrong({ ...TRUE, ...changed })).toEqual([signal]);
});

test("nothing said while something waits is found", () => {
  expect(wrong({ [UNKNOWN]: 0 })).toEqual([
    "metrics: waiting in 2s",
    "metrics: next due",
    "metrics: oldest waiting",
  ]);
});

test.each([[2], [1]])("while one of two is returned, %i may be said", (waiting) => {
  const later = waiting === 1 ? 100 : 0;
  const said = {
    ...TRUE,
    [WAITING]: waiting,
    [NEXT_DUE]: (DUE_MS + later) / 1_000,
    [OLDEST]: (WRITTEN_MS + later) / 1_000,
  };
  expect(wrong(said, [0, 1])).toEqual([]);
});

test("what nobody waits for any more is not said", () => {
  expect(wrong(TRUE, [3, 3])).toEqual([
    "metrics: waiting in 2s",
    "metrics: next due",
    "metrics: oldest waiting",
  ]);
  expect(wrong({ [UNKNOWN]: 0 }, [3, 3])).toEqual([]);
});
