/** `docs/topics.md`: the table of topics, from the plan of the default settings. */

import { durationText } from "../../src/base/settings/scalars.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { COMMAND_ROLES, type CommandRole, roleOf } from "../../src/domain/permissions.ts";
import {
  type ConsumedKind,
  readerOf,
  STAGE_NAMES,
  type TopicKind,
} from "../../src/domain/stages.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import { type PlannedTopic, topicPlan } from "../../src/router/topics/topic-plan.ts";
import { code, pageWith, table } from "./page.ts";

const PREFIX = "switchyard.";
const RETRY_DELAYS_MS = [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000];
const WINDOW_MS = 14_400_000;
const DESTINATION = "<destination>" as DestinationId;

/** The type makes this complete: a topic without a row does not compile. */
const KEYS: Readonly<Record<TopicKind, string>> = {
  calls: "userId, else anonymousId",
  audienceSyncs: "audience ID, or userId",
  audienceMembers: "audience and user",
  audiences: "audience ID",
  deletionRequests: "userId",
  deliveries: "the call's userId, or anonymousId",
  retries: "the delivery's key",
  order: "the fact, and a hash of the delivery's key",
  delays: "the delivery's key",
  deadLetters: "the record's key",
  deadLetterReplays: "the range of dead letters, and the replay",
  operatorEvents: "the incident's kind and subject",
  attempts: "the call's message ID",
  operatorActions: "the action and its destination",
  suppressions: "userId",
  ledger: "the consumer group",
};
/** The commands of roles that have several commands, or a different name. */
const COMMAND_NAMES: Partial<Record<CommandRole, string>> = {
  "audience-admin": "audience",
  replay: "replay`, `dead-letters replay",
  control: "pause`, `resume`, `retry`, `cancel",
};
/** Topics that are written by programs outside Switchyard. */
const OUTSIDE: Partial<Record<TopicKind, string>> = {
  calls: "applications",
  audienceSyncs: "data platforms",
  deletionRequests: "data platforms",
  suppressions: "data platforms",
};
/** The setting that enables writing to the topic. */
const IF: Partial<Record<TopicKind, string>> = {
  operatorEvents: "operatorEvents.enabled",
  attempts: "attempts.enabled",
  ledger: "audit.enabled",
  order: "order: strict",
};
/** The readers of topics that have no consumer group. */
const READERS: Readonly<Record<Exclude<TopicKind, ConsumedKind>, string>> = {
  audienceMembers: "audience",
  audiences: "audience",
  deadLetters: "operators",
  deadLetterReplays: "commands, console",
  attempts: "operators",
  operatorEvents: "deliver, delay, audience, operators",
  operatorActions: "route, deletion, deliver, delay",
  suppressions: "ingest, route, audience, deliver, delay, commands",
  ledger: "`audit`",
  order: "deliver, commands, console",
};

function notesOf(kind: TopicKind) {
  return {
    writer: writersOf(kind),
    key: KEYS[kind],
    reader: isReadAlone(kind) ? READERS[kind] : groupOf(kind),
  };
}

/** Returns the writers, derived from the permissions of stages and commands, so that none is missing. */
function writersOf(kind: TopicKind): string {
  const stages = STAGE_NAMES.filter((name) => roleOf(name).writes.includes(kind));
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
  if (input.per === "delay") return `\`${groups[input.group]("<delay>")}\``;
  return `\`${groups[input.group](DESTINATION)}\``;
}

export function renderTopics(): string {
  const topics = topicNames(PREFIX);
  const plan = topicPlan({
    topics,
    destinations: [DESTINATION],
    webhooks: [DESTINATION],
    strict: [DESTINATION],
    retryDelaysMs: RETRY_DELAYS_MS,
    retryWindowMs: WINDOW_MS,
    partitions: 6,
    replicationFactor: null,
    attemptsRetentionMs: 3 * 86_400_000,
    hasOperatorEvents: true,
    hasLedger: true,
  });
  // Delay topics differ only in their names.
  const shown = plan.filter(({ kind }, at) => kind !== "delays" || plan[at - 1]?.kind !== kind);
  const row = ({ kind, name, config }: PlannedTopic) => {
    const { writer, key, reader } = notesOf(kind);
    const retention = config["retention.ms"];
    const kept = retention === undefined ? "compacted" : durationText(Number(retention));
    const bytes = Number(config["max.message.bytes"]) / 1_024;
    const shownName = kind === "delays" ? `${PREFIX}delays.<delay>` : name;
    return [code(shownName), writer, key, reader, kept, `${bytes} KiB`];
  };
  const header = ["Topic", "Written by", "Key", "Read by", "Kept", "Largest record"];
  return pageWith("docs/topics.md", { topics: table(header, shown.map(row)) });
}
