// The topic plan, and each row of the table of differences.

import { expect, test } from "vitest";

import type { DestinationId } from "../../../../src/domain/ids.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import {
  type ActualTopic,
  isChange,
  type TopicDifference,
  topicDifferences,
} from "../../../../src/router/topics/topic-differences.ts";
import {
  type PlannedTopic,
  recordMaxBytes,
  topicPlan,
} from "../../../../src/router/topics/topic-plan.ts";

const DAY_MS = 86_400_000;
const names = topicNames("p.");

const COMPACTED = {
  "cleanup.policy": "compact",
  "max.message.bytes": "1048576",
  "max.compaction.lag.ms": `${DAY_MS}`,
  "delete.retention.ms": `${DAY_MS}`,
};

function planWith(more: Partial<Parameters<typeof topicPlan>[0]>): readonly PlannedTopic[] {
  return topicPlan({
    topics: names,
    destinations: ["crm" as DestinationId],
    webhooks: ["crm" as DestinationId],
    strict: ["crm" as DestinationId],
    retryDelaysMs: [10_000],
    retryWindowMs: 14_400_000,
    partitions: 6,
    replicationFactor: null,
    attemptsRetentionMs: 259_200_000,
    hasOperatorEvents: true,
    hasLedger: true,
    ...more,
  });
}

/** Returns kinds of topics that have a name but no plan, so that they would never be created. */
function unplanned(topics: object): readonly string[] {
  const kinds = new Set<string>(planWith({}).map(({ kind }) => kind));
  return Object.keys(topics).filter((kind) => kind !== "prefix" && !kinds.has(kind));
}

test("every topic that has a name has a plan", () => {
  expect(unplanned(names)).toEqual([]);
  expect(unplanned({ ...names, attic: "p.attic" })).toEqual(["attic"]);
});

test("a destination's topic has the partitions that it says, and nothing else of it has", () => {
  const ids = ["crm", "mail"] as DestinationId[];
  const partitionsOf = new Map(ids.slice(0, 1).map((id) => [id, 24]));
  const rows = planWith({ destinations: ids, webhooks: ids, partitionsOf })
    .filter(({ kind }) => kind === "deliveries" || kind === "retries")
    .map(({ name, partitions }) => [name, partitions]);
  expect(rows).toEqual([
    ["p.deliveries.crm", 24],
    ["p.deliveries.mail", 6],
    ["p.retries.crm", 1],
    ["p.retries.mail", 1],
  ]);
});

test("only a destination whose order is strict has a topic for the order", () => {
  const ids = ["crm", "mail"] as DestinationId[];
  const plan = planWith({ destinations: ids, webhooks: ids, strict: ids.slice(1) });
  const orders = plan.filter(({ kind }) => kind === "order").map(({ name }) => name);
  expect(orders).toEqual(["p.order.mail"]);
});

test("the plan has each stage's topics with retention and record size", () => {
  const rows = planWith({}).map(({ name, partitions, config }) => [name, partitions, config]);
  const config = (retentionMs: number, bytes: number) => ({
    "cleanup.policy": "delete",
    "retention.ms": `${retentionMs}`,
    "max.message.bytes": `${bytes}`,
  });
  expect(rows).toEqual([
    ["p.calls", 6, config(7 * DAY_MS, 1_048_576)],
    ["p.audience-syncs", 6, config(7 * DAY_MS, 1_048_576)],
    ["p.deletion-requests", 6, config(7 * DAY_MS, 1_048_576)],
    ["p.deliveries.crm", 6, config(7 * DAY_MS, 1_064_960)],
    ["p.retries.crm", 1, config(7 * DAY_MS, 1_064_960)],
    ["p.delays.10s", 6, config(28_800_000, 1_064_960)],
    ["p.dead-letters", 6, config(14 * DAY_MS, 1_114_112)],
    ["p.attempts", 6, config(3 * DAY_MS, 1_048_576)],
    ["p.ledger", 6, config(7 * DAY_MS, 1_048_576)],
    ["p.order.crm", 1, COMPACTED],
    ["p.dead-letter-replays", 1, COMPACTED],
    ["p.audience-members", 6, COMPACTED],
    ["p.audiences", 1, COMPACTED],
    ["p.operator-actions", 1, { ...COMPACTED, "message.timestamp.type": "LogAppendTime" }],
    ["p.suppressions", 1, COMPACTED],
    ["p.operator-events", 1, COMPACTED],
  ]);
});

test("equal delays share a topic, and names follow the configuration", () => {
  const plan = planWith({
    topics: topicNames("", { calls: "raw", audienceSyncs: "syncs", deletionRequests: "gdpr" }),
    retryDelaysMs: [1_000, 1_000, 90_000, 120_000, 3_600_000],
  });
  expect(plan.map(({ name }) => name)).toEqual([
    "raw",
    "syncs",
    "gdpr",
    "deliveries.crm",
    "retries.crm",
    "delays.1s",
    "delays.90s",
    "delays.2m",
    "delays.60m",
    "dead-letters",
    "attempts",
    "ledger",
    "order.crm",
    "dead-letter-replays",
    "audience-members",
    "audiences",
    "operator-actions",
    "suppressions",
    "operator-events",
  ]);
});

test("delay topics are kept for twice the window where that is longer than 8 hours", () => {
  const kept = (retryWindowMs: number) => planWith({ retryWindowMs })[5]?.config["retention.ms"];
  expect(kept(1_000)).toBe("28800000");
  expect(kept(14_400_000)).toBe("28800000");
  expect(kept(14_400_001)).toBe("28800002");
});

test("without attempts or events for people there is no topic of them", () => {
  const named = (retentionMs: number | null) =>
    planWith({ attemptsRetentionMs: retentionMs }).filter(({ kind }) => kind === "attempts");
  expect(named(null)).toEqual([]);
  const kinds = planWith({ hasOperatorEvents: false }).map(({ kind }) => kind);
  expect(kinds).not.toContain("operatorEvents");
  expect(named(3_600_000)[0]?.config["retention.ms"]).toBe("3600000");
});

test("record sizes are found by the topic's name, of retired topics too", () => {
  const own = { calls: "p.deliveries.raw", deletionRequests: "p.delays.gdpr" };
  const maxBytes = recordMaxBytes(topicNames("p.", own));
  expect(maxBytes("p.deliveries.raw")).toBe(1_048_576);
  expect(maxBytes("p.delays.gdpr")).toBe(1_048_576);
  expect(maxBytes("p.deliveries.gone")).toBe(1_064_960);
  expect(maxBytes("p.delays.7m")).toBe(1_064_960);
  expect(maxBytes("p.dead-letters")).toBe(1_114_112);
  expect(maxBytes("elsewhere")).toBe(1_048_576);
});

/** Compares the plan with a cluster that has changes to the topic of calls, and additional topics. */
function differences(
  change: Partial<ActualTopic> | null,
  config: Readonly<Record<string, string>> = {},
  others: readonly string[] = [],
  offsetsRetentionMs: number | null = null,
): readonly TopicDifference[] {
  const plan = planWith({ replicationFactor: 3 });
  const topics = plan
    .filter(({ name }) => change !== null || name !== "p.calls")
    .map((topic): ActualTopic => {
      const there = { ...topic, replicationFactor: 3 };
      if (topic.name !== "p.calls") return there;
      return { ...there, config: { ...topic.config, ...config }, ...change };
    });
  const existing = [...topics.map(({ name }) => name), ...others];
  return topicDifferences(plan, names, { names: existing, topics, offsetsRetentionMs });
}

test("no topic is planned larger than the cluster allows", () => {
  const sizes = (maxMessageBytes: number | null) =>
    new Set(planWith({ maxMessageBytes }).map(({ config }) => config["max.message.bytes"]));
  expect(sizes(1_050_000)).toEqual(new Set(["1048576", "1050000"]));
  expect(sizes(65_536)).toEqual(new Set(["65536"]));
  expect(sizes(null)).toEqual(new Set(["1048576", "1064960", "1114112"]));
});

test("a topic that may not be seen is no change, and the rest of it is compared", () => {
  const permission = "DescribeConfigs";
  const found = differences({ lacks: permission, partitions: 2 }, { "retention.ms": "1" });
  expect(found).toEqual([
    { kind: "hidden", topic: "p.calls", permission },
    { kind: "count", topic: "p.calls", of: "partitions", planned: 6, actual: 2 },
  ]);
  expect(found.some(isChange)).toBe(false);
  expect(differences({ lacks: "Describe", partitions: 0 })).toEqual([
    { kind: "hidden", topic: "p.calls", permission: "Describe" },
  ]);
});

test("a cluster as planned has no differences", () => {
  expect(differences({})).toEqual([]);
});

test("a missing topic is a change", () => {
  const [found, ...rest] = differences(null);
  expect(found).toMatchObject({ kind: "missing", topic: { name: "p.calls", partitions: 6 } });
  expect(found !== undefined && isChange(found)).toBe(true);
  expect(rest).toEqual([]);
});

test.each([
  ["cleanup.policy", "compact", true],
  ["cleanup.policy", "compact,delete", true],
  ["retention.ms", "604799999", true],
  ["retention.ms", "604800000", false],
  ["retention.ms", "604800001", false],
  ["retention.ms", "-1", false],
  ["retention.ms", "", true],
  ["max.message.bytes", "1048575", true],
  ["max.message.bytes", "1048588", false],
])("%s of %s is a difference: %s", (key, actual, differs) => {
  const found = differences({}, { [key]: actual });
  expect(found).toHaveLength(differs ? 1 : 0);
  if (differs) expect(found[0]).toMatchObject({ kind: "setting", topic: "p.calls", key, actual });
  expect(found.every(isChange)).toBe(true);
});

test.each([
  [{ partitions: 3 }, "partitions", 6, 3],
  [{ partitions: 12 }, "partitions", 6, 12],
  [{ replicationFactor: 1 }, "replicas", 3, 1],
])("%j is reported and left", (change, of, planned, actual) => {
  const found = differences(change);
  expect(found).toEqual([{ kind: "count", topic: "p.calls", of, planned, actual }]);
  expect(found.some(isChange)).toBe(false);
});

test("records kept for longer than offsets are reported, but not of topics that no group reads", () => {
  const reported = (config: Record<string, string>, offsetsMs: number) =>
    differences({}, config, [], offsetsMs)
      .filter(({ kind }) => kind === "offsets")
      .map(({ topic }) => topic);
  expect(reported({}, 7 * DAY_MS)).toEqual([]);
  expect(reported({}, 7 * DAY_MS - 1)).toEqual([
    "p.calls",
    "p.audience-syncs",
    "p.deletion-requests",
    "p.deliveries.crm",
    "p.retries.crm",
  ]);
  expect(reported({ "retention.ms": "-1" }, 7 * DAY_MS)).toEqual(["p.calls"]);
  expect(reported({}, 1)).not.toContain("p.dead-letters");
});

test.each([
  ["max.compaction.lag.ms", `${2 * DAY_MS}`, ["max.compaction.lag.ms"]],
  ["max.compaction.lag.ms", `${DAY_MS / 2}`, []],
  ["delete.retention.ms", `${DAY_MS / 2}`, ["delete.retention.ms"]],
  ["delete.retention.ms", `${2 * DAY_MS}`, ["delete.retention.ms"]],
  ["retention.ms", "1", []],
])("a compacted topic with %s=%s differs in %j", (key, value, expected) => {
  const plan = planWith({}).filter(({ name }) => name === "p.audience-members");
  const topics = plan.map((topic) => ({
    ...topic,
    replicationFactor: 1,
    config: { ...topic.config, [key]: value },
  }));
  const cluster = { names: ["p.audience-members"], topics, offsetsRetentionMs: null };
  const found = topicDifferences(plan, names, cluster);
  expect(found.map((difference) => difference.kind === "setting" && difference.key)).toEqual(
    expected,
  );
});

test("topics that are no longer configured are reported and left", () => {
  const others = ["p.delays.30m", "p.deliveries.old", "p.delays.soon", "p.other", "q.delays.1s"];
  const found = differences({}, {}, others);
  expect(found).toEqual([
    { kind: "retired", topic: "p.delays.30m" },
    { kind: "orphaned", topic: "p.deliveries.old" },
  ]);
  expect(found.some(isChange)).toBe(false);
});

test("the order of a destination that is loose now is left, and not reported", () => {
  const plan = planWith({ strict: [] });
  const existing = ["p.order.crm", "p.order.old"];
  const cluster = { names: existing, topics: [], offsetsRetentionMs: null };
  const found = topicDifferences(plan, names, cluster).filter(({ kind }) => kind !== "missing");
  expect(found).toEqual([{ kind: "orphaned", topic: "p.order.old" }]);
});
