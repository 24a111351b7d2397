import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { topicPlan } from "../../../../src/router/topics/topic-plan.ts";
import { renderTopics } from "../../../../tools/docs/topics.ts";

const DESTINATION = "<destination>" as DestinationId;

test("the page on topics lists every topic of the plan that has one partition, and no other", () => {
  const plan = topicPlan({
    topics: topicNames(""),
    destinations: [DESTINATION],
    webhooks: [DESTINATION],
    strict: [DESTINATION],
    retryDelaysMs: [10_000],
    retryWindowMs: 14_400_000,
    partitions: 6,
    replicationFactor: null,
    attemptsRetentionMs: 86_400_000,
    hasOperatorEvents: true,
    hasLedger: true,
  });
  const planned = plan.filter(({ partitions }) => partitions === 1).map(({ name }) => name);
  const sentence =
    /^- \*\*Partitions:\*\* (.*?) have one partition\./m.exec(renderTopics())?.[1] ?? "";
  const listed = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(planned.length).toBeGreaterThan(1);
  expect(listed.toSorted()).toEqual(planned.toSorted());
});
