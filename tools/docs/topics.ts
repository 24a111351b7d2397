/** `docs/topics.md` from the topic plan of the default settings. */

import { durationText } from "../../src/config/duration.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import {
  COMMAND_ROLES,
  type CommandRole,
  roleOf,
  STAGE_ROLES,
} from "../../src/domain/permissions.ts";
import { type ConsumedKind, readerOf, type TopicKind } from "../../src/domain/stages.ts";
import { type PlannedTopic, topicPlan } from "../../src/domain/topic-plan.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";

const PREFIX = "switchyard.";
const RETRY_DELAYS_MS = [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000];
const WINDOW_MS = 14_400_000;
const DESTINATION = "<destination>" as DestinationId;

/** Complete by its type: a topic without a row here does not compile. */
const KEYS: Readonly<Record<TopicKind, string>> = {
  calls: "userId, else anonymousId",
  audienceSyncs: "audience id, or userId",
  audienceMembers: "audience and user",
  audiences: "audience id",
  deletionRequests: "userId",
  deliveries: "the call's userId, else anonymousId",
  retries: "the delivery's key",
  delays: "the delivery's key",
  deadLetters: "the record's key",
  deadLetterReplays: "place of the letters, and the replay",
  operatorEvents: "the incident's kind and subject",
  attempts: "the call's message id",
  operatorActions: "the operation and its destination",
};
/** Where a role has more than one command, or another name. */
const COMMAND_NAMES: Partial<Record<CommandRole, string>> = {
  "audience-admin": "audience",
  replay: "replay`, `dead-letters replay",
  control: "pause`, `resume`, `retry`, `cancel",
};
/** Writers outside Switchyard. */
const OUTSIDE: Partial<Record<TopicKind, string>> = {
  calls: "applications",
  audienceSyncs: "data platforms",
  deletionRequests: "data platforms",
};
/** Settings without which nobody writes it. */
const IF: Partial<Record<TopicKind, string>> = {
  operatorEvents: "operatorEvents.enabled",
  attempts: "attempts.enabled",
};
/** Of topics without a consumer group. */
const READERS: Readonly<Record<Exclude<TopicKind, ConsumedKind>, string>> = {
  audienceMembers: "audience",
  audiences: "audience",
  deadLetters: "people",
  deadLetterReplays: "people",
  attempts: "people",
  operatorEvents: "deliver, delay, audience, people",
  operatorActions: "route, deletion, deliver, delay",
};

function notesOf(kind: TopicKind) {
  return {
    writer: writersOf(kind),
    key: KEYS[kind],
    reader: isReadAlone(kind) ? READERS[kind] : groupOf(kind),
  };
}

/** From the rights of stages and commands, so that none is forgotten. */
function writersOf(kind: TopicKind): string {
  const stages = STAGE_ROLES.filter((name) => roleOf(name).writes.includes(kind));
  const commands = COMMAND_ROLES.filter((name) => roleOf(name).writes.includes(kind));
  const outside = OUTSIDE[kind];
  const writers = [
    ...(outside === undefined ? [] : [outside]),
    ...stages,
    ...commands.map((name) => `\`${COMMAND_NAMES[name] ?? name}\``),
  ].join(", ");
  return IF[kind] === undefined ? writers : `${writers}, if \`${IF[kind]}\``;
}

function isReadAlone(kind: TopicKind): kind is keyof typeof READERS {
  return kind in READERS;
}

function groupOf(kind: ConsumedKind): string {
  const input = readerOf(kind)?.input;
  const groups = groupNames(PREFIX);
  if (input === undefined) throw new Error(`no stage reads ${kind}`);
  if (input.per === "stage") return `\`${groups[input.group]}\``;
  if (input.per === "tier") return `\`${groups[input.group]("<tier>")}\``;
  return `\`${groups[input.group](DESTINATION)}\``;
}

/** Their names without the prefix, as a list in a sentence. */
function onePartition(plan: readonly PlannedTopic[]): string {
  const names = plan
    .filter(({ partitions }) => partitions === 1)
    .map(({ name }) => `\`${name.slice(PREFIX.length)}\``);
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function renderTopics(): string {
  const topics = topicNames(PREFIX);
  const plan = topicPlan({
    topics,
    destinations: [DESTINATION],
    webhooks: [DESTINATION],
    retryDelaysMs: RETRY_DELAYS_MS,
    retryWindowMs: WINDOW_MS,
    partitions: 6,
    replicationFactor: null,
    attemptsRetentionMs: 3 * 86_400_000,
    hasOperatorEvents: true,
  });
  const row = ({ kind, name, config }: PlannedTopic) => {
    const { writer, key, reader } = notesOf(kind);
    const retention = config["retention.ms"];
    const kept = retention === undefined ? "compacted" : durationText(Number(retention));
    const bytes = Number(config["max.message.bytes"]) / 1_024;
    return `| \`${name}\` | ${writer} | ${key} | ${reader} | ${kept} | ${bytes} KiB |`;
  };
  return `# Topics

The names here have the default prefix. \`kafka.topicPrefix\` sets another one, also for consumer groups. \`kafka.topics\` gives
other names to the topics that applications and data platforms write. This page is generated from \`src/domain/topic-plan.ts\` by
\`npm run docs\`; a test compares the two.

| Topic | Written by | Key | Read by | Kept | Largest record |
|---|---|---|---|---|---|
${plan.map(row).join("\n")}

- **Partitions:** ${onePartition(plan)} have one. Every other topic has \`kafka.partitions\` (6), and that of a destination as many as its own \`partitions\` says. \`audience-syncs\` and \`audience-members\` must
  have equally many.
- **Sizes:** no topic is planned larger than \`kafka.maxMessageBytes\`, if that is set ([a cluster that allows less](#a-cluster-that-allows-less)).
- **Replicas:** \`kafka.replicationFactor\`, by default the brokers'.
- **Cleanup:** topics that are not compacted have \`cleanup.policy=delete\`. Compacted topics have \`max.compaction.lag.ms\` and
  \`delete.retention.ms\` of a day. So nothing of a forgotten user is left after two days.
- **Delay topics** are named by their delay: \`Ns\` under two minutes or where the delay is no whole minute, \`Nms\` below whole seconds,
  else \`Nm\` (\`60m\`, not \`1h\`). All destinations share them. Equal delays share a topic. They are kept for 8 hours or twice
  \`delivery.retryWindow\`, whichever is longer.
- **Keys** are placed as Java's client does (murmur2). With librdkafka, set \`partitioner=murmur2_random\`. Otherwise calls of one user
  are in two partitions.
- **Times:** records that Switchyard writes carry the time of writing. So a historic call does not fall to retention.
- **\`LogAppendTime\`:** a topic may have \`message.timestamp.type=LogAppendTime\`. The time of a record is then the time at which the broker wrote it, whatever its producer
  sent. A call without \`timestamp\` and without \`receivedAt\` gets that time as both, and commands look for records by it when they are given \`--since\`.
- **Compression:** records that producers compressed with gzip, snappy, lz4 or zstd are all read.

## Attempts

The topic \`attempts\` is there if \`attempts.enabled\` is \`true\`. Deliver then writes a record for each attempt: what each endpoint answered, how
long the phases of each request took, what was decided, and when the next attempt is due. \`switchyard timeline\` reads it. [Schemas](schemas.md#attemptrecord)
has its fields, for programs of your own.

- **Key:** the call's message id. So all attempts of a call are in one partition, in the order in which they ended.
- **Nothing of the call** but its id is in it: no payload, no user id. Of a URL it has host and port, in the endpoint's name.
- **\`attempts.responseBytes\`**, such as \`4KiB\`, keeps the head of each answer that is none of success. An endpoint may repeat there what it was sent, so
  it is off unless it is set.
- **No delivery waits for it.** Up to 8 MiB of records wait for the brokers. Beyond that they are dropped, and also while the topic takes nothing.
  \`switchyard_attempt_records_total\` counts them, and the log line \`attempts.records-dropped\` says why. A process that is killed loses those of the last half second.
- **It costs** 2 to 4 µs of CPU an attempt. That is 6 % of deliver's CPU at full speed, as [0034](decisions/0034-attempts.md) measured it with a receiver that answers at once. In Kafka an attempt is about 320 bytes.

## Limits

The column "Largest record" counts key, value and headers. Brokers count a batch as it is sent, so a compressed batch can hold
far more. Switchyard inflates it in pieces.

| A compressed record | Then |
|---|---|
| fits | is read |
| is larger than its topic's limit | becomes the dead letter \`too-large\` with its place and what fits of it: the value, then the key, then headers; the partition moves on |

- A batch of many records is read in parts of at most 4 MiB. A batch that inflates to hundreds of mebibytes costs about as much
  memory as any other. Parts are inflated one at a time in a process.
- A dead letter that is itself too large is compressed (zstd), as a batch of its own. If it still is too large, it loses headers of the producer
  first, the largest before the others, then its key, and the value only if that alone is too large. The letter names what was cut.
- Snappy may repeat bytes from at most 1 MiB ago. All known writers stay below 64 KiB.

## Headers

A stage passes the bytes of a call on as they came. A later stage needs more than these bytes, and that travels in headers. All
headers are text. Instants are milliseconds since the epoch.

| Header of a delivery | Written by | Kept by a replay | Value |
|---|---|---|---|
| \`switchyard-message-id\` | route | yes | the call's message id |
| \`switchyard-source\` | route | yes | a source's id |
| \`switchyard-destination\` | route | yes | a destination's id |
| \`switchyard-timestamp\` | route | yes | the call's [time](calls.md#timestamps) |
| \`switchyard-received-at\` | route | yes | the time of receipt; latency is measured from it |
| \`switchyard-endpoint\` | deliver, with \`deliver: every\` | yes | key of the only endpoint to request |
| \`switchyard-attempt\` | deliver | no | attempts made |
| \`switchyard-first-attempt-at\` | deliver | no | the beginning of the window |
| \`switchyard-retry-count\` | deliver | no | times parked |
| \`switchyard-due-at\` | deliver | no | time of parking plus the tier's delay |
| \`switchyard-not-before\` | deliver, after \`Retry-After\` | no | earliest time of the next attempt |
| \`switchyard-reroute-count\` | route, deletion, delay | no | times that it [went around its topic](delivery.md#a-topic-that-is-not-writable); chooses the tier there |
| \`switchyard-retry-topic\` | deliver | no | for people: the delay stage knows the topic from the destination |
| \`switchyard-rejected-by\` | deliver | no | keys of endpoints that rejected it, with commas |
| \`switchyard-last-result\` | deliver | no | such as \`<endpoint key>=503,<endpoint key>=timeout\` |

- An endpoint key is the first 16 hex digits of the SHA-256 of the endpoint's URL.
- Headers of producers whose name begins with \`switchyard-\`, in any letter case, are dropped on \`calls\`. Other headers are passed on.
- A record on \`deliveries.*\` that lacks a header it needs becomes the dead letter \`invalid-call\`. The sentence names the header.
- [Dead letters](delivery.md#dead-letters) keep these headers and add their own.

### How far headers are believed

Somebody who may write to a destination's topics can say anything in these headers. It reaches no further than that destination.

| A header says | It counts as |
|---|---|
| on \`deliveries.*\` and \`retries.*\`: another destination | the destination of the topic |
| a first attempt in the future | now |
| a not-before further ahead than the window | the window from now |
| more attempts or parkings than 100,000 | 100,000 |
| more rejections than 100, an outcome longer than 1,000 characters | the first of them |
| on \`delays.*\`: a due time later than the tier's delay after the record was read | that instant |
| on \`delays.*\`: a due time later than the tier's delay and a minute after the record's time | that instant |
| on \`delays.*\`: any topic to return to | the topic of the destination |

## Changes


\`switchyard run\` creates missing topics. With \`kafka.createTopics: false\` it waits for them instead, and says for which. Nothing
relies on the brokers' auto-creation. \`switchyard topics\` prints how the cluster differs from the plan.
\`switchyard topics --apply\` removes the differences that it can:

| Difference | \`topics --apply\` |
|---|---|
| a topic is missing | creates it |
| another cleanup policy, less retention, smaller records | sets it as planned |
| more retention, larger records | not a difference: left as it is |
| another number of partitions or replicas | leaves it: other partition counts would put calls of one key out of order |
| records are kept longer than the brokers keep offsets (\`offsets.retention.minutes\`) | leaves it: a group stopped for so long would read all of them again |
| a delay topic that is no longer configured | leaves it: its records are still returned when they are due |
| a topic of a destination that is no longer configured | leaves it: its records go on if the id comes back |

| a topic or its settings may not be seen | leaves it: the table names the permission that is missing, and all other topics are compared |

It never deletes. Its exit status is 1 when, without \`--apply\`, something would be created or changed; when a topic cannot be compared; and when the cluster refuses something. Else it is 0.

### A cluster that allows less

Managed clusters refuse settings of topics by a policy, such as a \`max.message.bytes\` above theirs. Switchyard then applies as much as the cluster allows:

- **\`run\`** creates the topic without the setting, or with the largest size that the cluster allows if that is more than the default. The log line \`topics.setting-rejected\` names the topic, the setting and the cluster's own reason.
- **\`topics --apply\`** prints the same as a table, and does the rest.
- **\`kafka.maxMessageBytes\`** says what the cluster allows. The plan then has no larger size, and nothing is refused or shown as a difference.
- **A call that becomes too large:** a delivery is up to 16 KiB larger than its call. If its topic does not take it, the call is the dead letter \`too-large\`. A dead letter is compressed rather than written without its value,
  so it keeps the value if brokers take it like that: text nearly always shrinks by a quarter or more.
`;
}
