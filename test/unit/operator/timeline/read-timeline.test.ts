// When the timeline reads the topics `suppressions` and `order.*`, on a Kafka in memory.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import { factsBy } from "../../../../src/operator/timeline/facts.ts";
import { readTimeline } from "../../../../src/operator/timeline/read-timeline.ts";
import {
  type Fact,
  type FactKind,
  factRecord,
  lineOf,
  orderKey,
} from "../../../../src/router/order/facts.ts";
import { config } from "../../../support/build/config-source.ts";
import { suppressionOf } from "../../../support/build/suppressions.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const topics = topicNames("sw.");
const groups = groupNames("sw.");
const CONFIG = config(`
kafka: { brokers: [k:9092] }
defaultSource: web
sources: [{ id: web, destinations: [hook] }]
destinations: [{ id: hook, type: webhook, endpoints: [{ url: "https://a.example.com/" }] }]
`);

async function timelineOf(isRouted: boolean, mayRead = true) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  for (const topic of [topics.calls, topics.suppressions]) cluster.createTopic(topic, 1);
  const value = Buffer.from('{"type":"track","event":"e","userId":"u1","messageId":"m-1"}');
  cluster.append({ topic: topics.calls, key: Buffer.from("u1"), value, headers: [] });
  cluster.append(suppressionOf("u1"));
  const kafka = cluster.connect();
  const read: string[] = [];
  const ports = {
    kafka: {
      admin: kafka.admin,
      read: (range: Parameters<typeof kafka.read>[0]) => {
        read.push(range.topic);
        if (range.topic === topics.suppressions && !mayRead) throw new Error("not authorized");
        return kafka.read(range);
      },
    },
    topics,
    groups,
    factsOf: factsBy(CONFIG, topics, clock.nowMs()),
    topicDestinations: new Set<string>(),
    nowMs: () => clock.nowMs(),
    signal: new AbortController().signal,
  };
  const work = async () => {
    const offset = isRouted ? 1 : 0;
    await kafka.admin.commit(groups.route, topics.calls, [{ partition: 0, offset, metadata: "" }]);
    return readTimeline(ports, { messageId: "m-1", sinceMs: 0 });
  };
  const found = await clockDriver(clock).during(work());
  if (found === null) throw new Error("interrupted");
  return { ...found, isAsked: read.includes(topics.suppressions) };
}

test("a call that was routed nowhere was skipped because of its user's suppression", async () => {
  const { steps, gaps, isAsked } = await timelineOf(true);
  expect(isAsked).toBe(true);
  expect(steps).toMatchObject([
    { kind: "received" },
    { kind: "skipped", why: expect.stringContaining("has been suppressed since") },
  ]);
  expect(gaps).toEqual([]);
});

test("while there is nothing to explain, suppressions are not read", async () => {
  const { steps, isAsked } = await timelineOf(false);
  expect(isAsked).toBe(false);
  expect(steps).toMatchObject([{ kind: "received" }]);
});

test("if the role may not read suppressions, the timeline shows that and everything else", async () => {
  const { steps, gaps } = await timelineOf(true, false);
  expect(steps).toMatchObject([{ kind: "received" }]);
  expect(gaps).toEqual([{ kind: "unread", topics: [`${topics.suppressions}: not authorized`] }]);
});

const HOOK = "hook" as DestinationId;
type Named = readonly [kind: FactKind, offset: number, messageId: string | null];

/** The final state of `m2`, the third delivery of its user in the queue. @param facts null removes one. */
async function waitingFor(facts: readonly Named[]) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  const [queue, order] = [topics.deliveries(HOOK), topics.order(HOOK)];
  for (const topic of [topics.calls, queue, order]) cluster.createTopic(topic, 1);
  for (const id of ["m0", "m1", "m2"]) {
    const delivery = deliveryOf({ messageId: id as MessageId, destination: HOOK });
    const headers = deliveryHeaders(delivery);
    cluster.append({ topic: queue, key: Buffer.from("u1"), value: Buffer.from("{}"), headers });
  }
  const key = orderKey({ key: Buffer.from("u1") }) ?? "";
  const write = (topicId: string) => {
    const line = lineOf(topicId, 0);
    for (const [kind, offset, id] of facts) {
      const fact: Fact = { kind, key, offset };
      cluster.append(factRecord(order, line, fact, id));
      // The same user on another partition, in an earlier queue, and another user.
      cluster.append(factRecord(order, lineOf(topicId, 1), fact, "other"));
      cluster.append(factRecord(order, lineOf("earlier", 0), fact, "other"));
      cluster.append(factRecord(order, line, { ...fact, key: "k" }, "other"));
    }
  };
  const kafka = cluster.connect();
  const ports = {
    ...{ kafka, topics, groups, factsOf: factsBy(CONFIG, topics, clock.nowMs()) },
    topicDestinations: new Set<string>(),
    nowMs: () => clock.nowMs(),
    signal: new AbortController().signal,
  };
  const work = async () => {
    write((await kafka.admin.topicIds([queue])).get(queue) ?? "");
    const done = [{ partition: 0, offset: 3, metadata: "" }];
    await kafka.admin.commit(groups.deliver(HOOK), queue, done);
    return readTimeline(ports, { messageId: "m2", sinceMs: 0 });
  };
  const found = await clockDriver(clock).during(work());
  expect(found?.gaps.filter(({ kind }) => kind === "unread")).toEqual([]);
  return found?.finalStates[0];
}

const RETRIED: readonly Named[] = [
  ["retry", 0, "m0"],
  ["wait", 1, "m1"],
  ["wait", 2, "m2"],
];

test.each<[string, readonly Named[], string]>([
  ["the one that is retried", RETRIED, "m0"],
  ["the first one that waits", [...RETRIED, ["settled", 0, "m0"]], "m1"],
])("a delivery with a fact `wait` waits behind %s", async (_what, facts, behind) => {
  expect(await waitingFor(facts)).toMatchObject({ kind: "queued", behind });
});

test.each<[string, readonly Named[]]>([
  ["has no fact", [["retry", 0, "m0"]]],
  ["is the next one", [...RETRIED, ["settled", 1, "m1"]]],
  ["is settled", [...RETRIED, ["settled", 2, "m2"]]],
  ["has a fact that was removed", [...RETRIED, ["wait", 2, null]]],
])("a delivery that %s does not wait", async (_what, facts) => {
  expect(await waitingFor(facts)).not.toHaveProperty("behind");
});
