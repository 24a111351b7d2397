/** Names of topics and consumer groups (docs/topics.md). */

import type { DestinationId } from "./ids.ts";

/** Configured names of the topics that other programs write to; the prefix is not added to these names. */
export interface OwnTopicNames {
  readonly calls?: string;
  readonly audienceSyncs?: string;
  readonly deletionRequests?: string;
}

export interface TopicNames {
  readonly prefix: string;
  readonly calls: string;
  readonly audienceSyncs: string;
  readonly audienceMembers: string;
  readonly audiences: string;
  readonly deletionRequests: string;
  readonly deadLetters: string;
  /** The topic that lists which dead letters have been replayed. */
  readonly deadLetterReplays: string;
  readonly attempts: string;
  readonly operatorEvents: string;
  readonly operatorActions: string;
  readonly suppressions: string;
  /** What became of the records that the stages have processed, from which `switchyard audit` adds up. */
  readonly ledger: string;
  readonly deliveries: (destination: DestinationId) => string;
  /** The topic of a destination's deliveries that are due for a retry. */
  readonly retries: (destination: DestinationId) => string;
  /** The topic of what is known about the order of a destination's deliveries, if its order is strict. */
  readonly order: (destination: DestinationId) => string;
  /** The delay topic for one retry delay; the topic's name contains the delay. */
  readonly delays: (delayMs: number) => string;
}

export function topicNames(prefix: string, own: OwnTopicNames = {}): TopicNames {
  return {
    prefix,
    calls: own.calls ?? `${prefix}calls`,
    audienceSyncs: own.audienceSyncs ?? `${prefix}audience-syncs`,
    audienceMembers: `${prefix}audience-members`,
    audiences: `${prefix}audiences`,
    deletionRequests: own.deletionRequests ?? `${prefix}deletion-requests`,
    deadLetters: `${prefix}dead-letters`,
    deadLetterReplays: `${prefix}dead-letter-replays`,
    attempts: `${prefix}attempts`,
    operatorEvents: `${prefix}operator-events`,
    operatorActions: `${prefix}operator-actions`,
    suppressions: `${prefix}suppressions`,
    ledger: `${prefix}ledger`,
    deliveries: (destination) => `${prefix}deliveries.${destination}`,
    retries: (destination) => `${prefix}retries.${destination}`,
    order: (destination) => `${prefix}order.${destination}`,
    delays: (delayMs) => `${prefix}delays.${delayName(delayMs)}`,
  };
}

/** The destination whose deliveries the topic contains; null if it contains no deliveries of one destination. */
export function destinationOfTopic(
  topic: string,
  topics: Pick<TopicNames, "deliveries" | "retries">,
): DestinationId | null {
  return destinationAfter(topic, [topics.deliveries, topics.retries]);
}

/** The destination to which the topic belongs; null if it does not belong to a destination. */
export function ownerOfTopic(
  topic: string,
  topics: Pick<TopicNames, "deliveries" | "retries" | "order">,
): DestinationId | null {
  return destinationAfter(topic, [topics.deliveries, topics.retries, topics.order]);
}

function destinationAfter(
  topic: string,
  names: readonly TopicNames["deliveries"][],
): DestinationId | null {
  const starts = names.map((name) => name("" as DestinationId));
  const start = starts.find((each) => topic.startsWith(each));
  return start === undefined ? null : (topic.slice(start.length) as DestinationId);
}

/**
 * The name of a retry delay: `Nm` for whole minutes, if there are at least two of them (`60m`, not `1h`); otherwise
 * `Ns` for whole seconds, and `Nms` for any other delay.
 */
export function delayName(delayMs: number): string {
  if (delayMs % 1_000 !== 0) return `${delayMs}ms`;
  if (delayMs < 120_000 || delayMs % 60_000 !== 0) return `${delayMs / 1_000}s`;
  return `${delayMs / 60_000}m`;
}

/** The retry delay with this name, in milliseconds; null if it is not the name of a retry delay. */
export function delayMsOfTopic(delay: string): number | null {
  const match = /^([1-9]\d{0,8})(ms|s|m)$/.exec(delay);
  if (match === null) return null;
  const units = { ms: 1, s: 1_000, m: 60_000 } as const;
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

/** The retry delay whose records the topic contains; null if it is not a delay topic. */
export function delayOfTopic(topic: string, { prefix }: Pick<TopicNames, "prefix">): string | null {
  const start = `${prefix}delays.`;
  const delay = topic.startsWith(start) ? topic.slice(start.length) : "";
  return delayMsOfTopic(delay) === null ? null : delay;
}

export interface GroupNames {
  readonly route: string;
  readonly deliver: (destination: DestinationId) => string;
  readonly delay: (delay: string) => string;
  readonly audience: string;
  readonly deletion: string;
  /** The group that stores which events have been posted to the operators' webhook. */
  readonly operatorEvents: string;
  /** The group that stores the progress of a replay of dead letters. It has no members. */
  readonly replay: (name: string) => string;
  /** The group that stores which process runs the replay. It has no members. */
  readonly replayOwner: (name: string) => string;
}

export function groupNames(prefix: string): GroupNames {
  return {
    route: `${prefix}route`,
    deliver: (destination) => `${prefix}deliver.${destination}`,
    delay: (delay) => `${prefix}delay.${delay}`,
    audience: `${prefix}audience`,
    deletion: `${prefix}deletion`,
    operatorEvents: `${prefix}operator-events`,
    replay: (name) => `${prefix}replay.${name}`,
    replayOwner: (name) => `${prefix}replay.${name}.owner`,
  };
}
