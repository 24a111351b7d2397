// When the timeline reads the topic `suppressions`, on a Kafka in memory.

import { expect, test } from "vitest";
import { groupNames, topicNames } from "../../../../src/domain/topics.ts";
import { factsBy } from "../../../../src/operator/timeline/facts.ts";
import { readTimeline } from "../../../../src/operator/timeline/read-timeline.ts";
import { config } from "../../../support/build/config-source.ts";
import { suppressionOf } from "../../../support/build/suppressions.ts";
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
