/** Names of topics and consumer groups (docs/topics.md). */

import type { DestinationId } from "./ids.ts";

/** Configured names of the topics that other programs write; these names have no prefix. */
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
  /** The topic that marks dead letters as replayed. */
  readonly deadLetterReplays: string;
  readonly attempts: string;
  readonly operatorEvents: string;
  readonly operatorActions: string;
  readonly deliveries: (destination: DestinationId) => string;
  /** Deliveries that were attempted and are due for a retry. */
  readonly retries: (destination: DestinationId) => string;
  /** The delay topic for one retry delay, which is part of the topic's name. */
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
    deliveries: (destination) => `${prefix}deliveries.${destination}`,
    retries: (destination) => `${prefix}retries.${destination}`,
    delays: (delayMs) => `${prefix}delays.${delayName(delayMs)}`,
  };
}

/** The destination whose deliveries the topic contains; null for other topics. */
export function destinationOfTopic(
  topic: string,
  topics: Pick<TopicNames, "deliveries" | "retries">,
): DestinationId | null {
  const none = "" as DestinationId;
  const starts = [topics.deliveries(none), topics.retries(none)];
  const start = starts.find((each) => topic.startsWith(each));
  return start === undefined ? null : (topic.slice(start.length) as DestinationId);
}

/**
 * The name of a retry delay: `Nms` below whole seconds, `Ns` under two minutes or if the delay is not a
 * whole minute, else `Nm` (`60m`, not `1h`).
 */
export function delayName(delayMs: number): string {
  if (delayMs % 1_000 !== 0) return `${delayMs}ms`;
  if (delayMs < 120_000 || delayMs % 60_000 !== 0) return `${delayMs / 1_000}s`;
  return `${delayMs / 60_000}m`;
}

/** The retry delay in milliseconds that a name stands for, or null for other names. */
export function delayMsOfTopic(delay: string): number | null {
  const match = /^([1-9]\d{0,8})(ms|s|m)$/.exec(delay);
  if (match === null) return null;
  const units = { ms: 1, s: 1_000, m: 60_000 } as const;
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

export interface GroupNames {
  readonly route: string;
  readonly deliver: (destination: DestinationId) => string;
  readonly delay: (delay: string) => string;
  readonly audience: string;
  readonly deletion: string;
  /** The group that stores which events were posted to the operator's webhook. */
  readonly operatorEvents: string;
  /** The group, without members, that stores the progress of a replay of dead letters. */
  readonly replay: (name: string) => string;
  /** The group, without members, that stores which process runs the replay. */
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
