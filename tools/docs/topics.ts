/** `docs/topics.md` from the topic plan of the default settings. */

import { durationText } from "../../src/config/duration.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { type PlannedTopic, topicPlan } from "../../src/domain/topic-plan.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";

const PREFIX = "switchyard.";
const DELAYS_MS = [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000];
const WINDOW_MS = 14_400_000;
const DESTINATION = "<destination>" as DestinationId;

export function renderTopics(): string {
  const topics = topicNames(PREFIX);
  const groups = groupNames(PREFIX);
  const plan = topicPlan({
    topics,
    destinations: [DESTINATION],
    delaysMs: DELAYS_MS,
    windowMs: WINDOW_MS,
    partitions: 6,
    replicationFactor: null,
  });
  const notes: Readonly<Record<string, readonly [writer: string, key: string, reader: string]>> = {
    [topics.calls]: ["applications, audience", "userId, else anonymousId", `\`${groups.route}\``],
    [topics.audienceSyncs]: [
      "data platforms, deletion",
      "audience id, or userId",
      `\`${groups.audience}\``,
    ],
    [topics.audienceMembers]: ["audience", "audience and user", "audience"],
    [topics.audiences]: ["audience", "audience id", "audience"],
    [topics.deletionRequests]: ["data platforms", "userId", `\`${groups.deletion}\``],
    [topics.deliveries(DESTINATION)]: [
      "route, deletion, delay",
      "the call's userId, else anonymousId",
      `\`${groups.deliver(DESTINATION)}\``,
    ],
    [topics.deadLetters]: ["every stage", "the record's key", "people"],
  };
  const delay = ["deliver", "the delivery's key", `\`${groups.delay("<tier>")}\``] as const;
  const row = ({ name, config }: PlannedTopic) => {
    const [writer, key, reader] = notes[name] ?? delay;
    const retention = config["retention.ms"];
    const kept = retention === undefined ? "compacted" : durationText(Number(retention));
    const bytes = Number(config["max.message.bytes"]) / 1_024;
    return `| \`${name}\` | ${writer} | ${key} | ${reader} | ${kept} | ${bytes} KiB |`;
  };
  return `# Topics

Names with the default prefix, \`kafka.topicPrefix\`; consumer groups begin with it too. \`kafka.topics\` gives the topics
that applications and data platforms write other names. This page is generated from \`src/domain/topic-plan.ts\` by
\`npm run docs\`; a test compares the two.

| Topic | Written by | Key | Read by | Kept | Largest record |
|---|---|---|---|---|---|
${plan.map(row).join("\n")}

- Every topic but \`audiences\`, which has one, has \`kafka.partitions\` partitions (6); all have \`kafka.replicationFactor\`
  replicas (the brokers' default), and all that are not compacted \`cleanup.policy=delete\`.
- Compacted topics have \`max.compaction.lag.ms\` and \`delete.retention.ms\` of a day, so that nothing of a forgotten user is
  left after two. \`audience-syncs\` and \`audience-members\` must have equally many partitions.
- Delay topics are named by their delay and shared by all destinations. They are kept for 8 hours or twice \`delivery.window\`,
  whichever is longer. Equal delays share a topic.
- Keys are placed as Java's client does (murmur2). With librdkafka, set \`partitioner=murmur2_random\`, or calls of one
  user will be in two partitions.
- Records that Switchyard writes carry the time of writing, so a historic call does not fall to retention.

## Creating and changing them

\`switchyard run\` creates what is missing unless \`kafka.createTopics\` is false; then it waits, and says for which topics.
Nothing relies on the brokers' auto-creation. \`switchyard topics\` prints how the cluster differs from the plan,
\`switchyard topics --apply\` removes the differences that it can:

| Difference | \`topics --apply\` |
|---|---|
| a topic is missing | creates it |
| another cleanup policy, less retention, smaller records | sets it as planned |
| more retention, larger records | not a difference: left as it is |
| another number of partitions or replicas | leaves it: other partition counts would put calls of one key out of order |
| records are kept longer than the brokers keep offsets (\`offsets.retention.minutes\`) | leaves it: a group stopped for so long would read all of them again |
| a delay topic that is no longer configured | leaves it: what is in it is still returned when it is due |
| a topic of a destination that is no longer configured | leaves it: what is in it goes on if the id comes back |

It never deletes. Its exit status is 1 when, without \`--apply\`, something would be created or changed, else 0.
`;
}
