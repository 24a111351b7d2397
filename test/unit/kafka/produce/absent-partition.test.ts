// Records that name a partition which their topic does not have any more, because it was recreated with fewer
// partitions.

import { expect, test, vi } from "vitest";
import { ended, inEachTest, until } from "../../../support/clock/stepped-timers.ts";
import { NumberingCluster } from "../../../support/kafka-client/numbering-cluster.ts";

const UNKNOWN = 3;

inEachTest(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));

/** Recreates a topic with two written partitions as a topic with one. */
async function madeAnew(): Promise<NumberingCluster> {
  const cluster = new NumberingCluster();
  await ended(Promise.all([cluster.send(0, "a0"), cluster.send(1, "b0")]));
  cluster.leaders.pop();
  cluster.finalStates.set(2, [{ isIgnored: true, errorCode: UNKNOWN }]);
  return cluster;
}

test("they wait and are reported, others continue, and they are written when the partition is there", async () => {
  const cluster = await madeAnew();
  const waiting = Promise.all([cluster.send(1, "b1"), cluster.send(1, "b2")]);
  await until(() => cluster.producer.blocked().length > 0);
  expect(cluster.producer.blocked()).toMatchObject([
    { topic: "t", by: "unavailable", error: "UNKNOWN_TOPIC_OR_PARTITION: no partition 1" },
  ]);
  await until(() => cluster.warned.length > 0);
  expect(cluster.warned[0]).toMatchObject({
    msg: "kafka.produce.partition-missing",
    fields: { topic: "t", partition: 1, partitions: 1 },
  });
  await ended(cluster.send(0, "a1"));
  expect(cluster.written).toEqual([["a0", "a1"], ["b0"]]);

  cluster.leaders.push(2);
  await ended(waiting);
  expect(cluster.written[1]).toEqual(["b0", "b1", "b2"]);
  expect(cluster.producer.blocked()).toEqual([]);
});

test("one that is to come back comes back", async () => {
  const cluster = await madeAnew();
  const record = { topic: "t", partition: 1, key: null, value: Buffer.from("b1"), headers: [] };
  expect(await ended(cluster.producer.send([record], { giveBack: true }))).toMatchObject([
    { record, blocked: "unavailable" },
  ]);
  expect(cluster.written).toEqual([["a0"], ["b0"]]);
});

test("a partition that a broker does not show yet is not reported", async () => {
  const cluster = new NumberingCluster();
  cluster.leaders.pop();
  await ended(cluster.send(0, "a0"));
  const sent = cluster.send(1, "b0");
  await until(() => cluster.metadataRequests > 2);
  cluster.leaders.push(2);
  await ended(sent);
  expect(cluster.warned).toEqual([]);
  expect(cluster.producer.blocked()).toEqual([]);
});
