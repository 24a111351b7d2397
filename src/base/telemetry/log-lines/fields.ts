/** The fields of log lines. A field means the same in all lines. */

/** The types of fields, under the names that the docs use for these types. */
export interface FieldTypes {
  readonly string: string;
  readonly "string or number": string | number;
  readonly strings: readonly string[];
  readonly number: number;
  /** An instant in ISO 8601 format, in UTC and with milliseconds. */
  readonly instant: string;
  readonly error: unknown;
  readonly object: object;
  readonly objects: readonly object[];
}

export interface FieldSpec {
  readonly type: keyof FieldTypes;
  /** Not set if the field's name is explanation enough. */
  readonly meaning?: string;
}

export const LOG_FIELDS = {
  action: {
    type: "object",
  },
  afterMs: {
    type: "number",
  },
  attempt: { type: "number" },
  audience: { type: "string" },
  audiences: { type: "object" },
  batchCalls: {
    type: "number",
  },
  batchId: { type: "string" },
  broker: { type: "string" },
  brokerId: { type: "number" },
  by: {
    type: "string",
    meaning:
      "What paused the destination: configuration, command, console, or the name of another " +
      "program. For `console.action.started`, how the sender authenticated.",
  },
  cause: {
    type: "string",
    meaning:
      "In `config.*`: file, SIGHUP, request, start or topics. In `operator-webhook.*`: the " +
      "response's status, or why there was no response.",
  },
  clients: { type: "object" },
  code: { type: "string" },
  committed: { type: "number" },
  connections: { type: "number" },
  corruption: { type: "string" },
  count: { type: "number" },
  decision: {
    type: "string",
    meaning: "Result of the whole attempt: accepted, retry, rejected or expired.",
  },
  destination: { type: "string" },
  destinations: { type: "object" },
  durationMs: {
    type: "number",
  },
  end: { type: "number" },
  endpointId: {
    type: "string",
    meaning: "The endpoint's `id` or, if it has none, its position in the list, counted from 1.",
  },
  endpointName: {
    type: "string",
    meaning:
      "Destination, endpoint ID and host of an endpoint, such as `crm-hook[1] crm.example.com`.",
  },
  err: { type: "error" },
  error: { type: "string" },
  event: { type: "string" },
  file: { type: "string" },
  firstOffset: { type: "number" },
  fix: { type: "string" },
  forwardedFor: { type: "string" },
  from: { type: "string" },
  group: {
    type: "string",
  },
  hash: { type: "string" },
  hint: { type: "string" },
  host: { type: "string" },
  instead: { type: "string" },
  job: { type: "string" },
  key: { type: "string", meaning: "Name of the trait that an audience sets." },
  lastOffset: { type: "number" },
  members: { type: "number" },
  messageId: { type: "string" },
  node: { type: "string" },
  offset: { type: "number" },
  offsetMs: {
    type: "number",
    meaning:
      "How far the process's clock is ahead of the brokers' clock; negative if it is behind.",
  },
  omittedLines: {
    type: "number",
    meaning:
      "Lines of this kind omitted since the previous one, because at most ten per second are " +
      "written.",
  },
  outcome: {
    type: "string",
    meaning:
      "For a sync: complete, awaiting-approval, approved, abandoned, count-mismatch or deleted. " +
      "For an action: done, failed or stopped.",
  },
  partition: { type: "number" },
  partitions: { type: "number" },
  planned: { type: "string" },
  port: { type: "number" },
  problems: { type: "strings" },
  progress: { type: "string" },
  reason: { type: "string" },
  received: { type: "number" },
  records: { type: "number" },
  removed: { type: "number" },
  request: { type: "string" },
  requests: {
    type: "objects",
    meaning:
      "For each endpoint: `endpointId`, `endpointName`, `status` or `cause`, and `durationMs`.",
  },
  resolved: { type: "string" },
  retryAt: { type: "instant" },
  retryDelay: { type: "string" },
  retryInMs: { type: "number" },
  schema: { type: "string or number" },
  setting: { type: "string" },
  settings: {
    type: "strings",
    meaning:
      "In `config.applied`, the settings that apply immediately, except lists such as `sources`.",
  },
  signal: { type: "string" },
  since: { type: "instant" },
  source: { type: "string" },
  sources: { type: "object" },
  stage: { type: "string" },
  stages: { type: "strings" },
  state: { type: "string" },
  storeState: {
    type: "string",
    meaning:
      "State of the local store: current, behind or missing; or why it is rebuilt: stale, ahead, " +
      "foreign or corrupt.",
  },
  subject: { type: "string" },
  sumMs: {
    type: "number",
    meaning: "Sum of the throttle times since the previous line.",
  },
  sync: { type: "string" },
  throttleMs: { type: "number" },
  topic: { type: "string" },
  topics: { type: "strings" },
  unreachableForMs: { type: "number" },
  until: { type: "instant" },
  url: { type: "string" },
  variables: { type: "strings" },
  version: { type: "string" },
  waiting: { type: "number", meaning: "Number of schemas that are being looked up." },
  warnings: { type: "strings" },
} as const satisfies Readonly<Record<string, FieldSpec>>;

export type LogFieldName = keyof typeof LOG_FIELDS;
export type LogFieldValue<Name extends LogFieldName> =
  FieldTypes[(typeof LOG_FIELDS)[Name]["type"]];
