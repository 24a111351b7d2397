/**
 * The requests that our code encodes, with the versions that can be sent. kafkajs encodes all others
 * (`kafkajs/request-versions.ts`).
 *
 *   request                  versions   brokers of Kafka from
 *   Fetch, with a session    11         2.3
 *   ListOffsets              2 to 5     0.11
 *   Metadata, for leaders    6          2.0
 *   Metadata, for topic IDs  10         2.8
 *   OffsetCommit             5          2.1
 *   OffsetFetch, of many     8          3.0
 *     groups
 *   FindCoordinator, of      4          3.0
 *     many groups
 *   Heartbeat                3          2.3
 *   DescribeConfigs          1 to 3     1.1
 *   IncrementalAlterConfigs  0          2.3
 */

import type { RequestKind } from "./request-version.ts";

export const FETCH: RequestKind = { apiKey: 1, apiName: "Fetch", versions: [11] };
export const LIST_OFFSETS: RequestKind = {
  apiKey: 2,
  apiName: "ListOffsets",
  versions: [2, 3, 4, 5],
};
export const LEADERS: RequestKind = { apiKey: 3, apiName: "Metadata", versions: [6] };
export const TOPIC_IDS: RequestKind = { apiKey: 3, apiName: "Metadata", versions: [10] };
export const COMMIT: RequestKind = { apiKey: 8, apiName: "OffsetCommit", versions: [5] };
export const GROUPS_OFFSETS: RequestKind = { apiKey: 9, apiName: "OffsetFetch", versions: [8] };
export const COORDINATORS: RequestKind = {
  apiKey: 10,
  apiName: "FindCoordinator",
  versions: [4],
};
export const HEARTBEAT: RequestKind = { apiKey: 12, apiName: "Heartbeat", versions: [3] };
export const DESCRIBE_CONFIGS: RequestKind = {
  apiKey: 32,
  apiName: "DescribeConfigs",
  versions: [1, 2, 3],
};
export const ALTER_CONFIGS: RequestKind = {
  apiKey: 44,
  apiName: "IncrementalAlterConfigs",
  versions: [0],
};
