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
  readonly meaning: string;
}

export const LOG_FIELDS = {
  action: {
    type: "object",
    meaning:
      "The action that was requested in the console, including the time range and the share of " +
      "calls of a comparison.",
  },
  afterMs: {
    type: "number",
    meaning: "Time for which the process waited before the line was logged, in milliseconds.",
  },
  attempt: { type: "number", meaning: "The number of the attempt, from 1." },
  audience: { type: "string", meaning: "ID of an audience." },
  audiences: { type: "object", meaning: "IDs of audiences: added, removed, changed." },
  batchCalls: {
    type: "number",
    meaning: "Number of calls in the batch in which a delivery was sent.",
  },
  batchId: { type: "string", meaning: "ID of the batch in which a delivery was sent." },
  broker: { type: "string", meaning: "Address of a broker: host and port." },
  brokerId: { type: "number", meaning: "ID of a broker in its cluster." },
  by: {
    type: "string",
    meaning:
      "What paused the destination: configuration, command, console, or the name of another program. Two causes are possible at the same time. For `console.action.started`, how the sender authenticated: token, session, or no token required.",
  },
  cause: {
    type: "string",
    meaning:
      "The cause. In `kafka.waiting`, a sentence. In `config.*`, one of file, SIGHUP, request, " +
      "start, topics. In `operator-webhook.*`, the status of the response, or the reason why " +
      "there was no response.",
  },
  clients: { type: "object", meaning: "Client IDs of other programs in a consumer group." },
  code: { type: "string", meaning: "Code of a rejected request, as in the response body." },
  committed: { type: "number", meaning: "The offset that was committed." },
  connections: { type: "number", meaning: "Maximum number of open connections." },
  corruption: { type: "string", meaning: "A sentence that describes how the batch is corrupt." },
  count: { type: "number", meaning: "Number of calls, sources, spans or records." },
  decision: {
    type: "string",
    meaning: "The outcome of the whole attempt: accepted, retry, rejected, expired.",
  },
  destination: { type: "string", meaning: "ID of a destination." },
  destinations: {
    type: "object",
    meaning: "IDs of destinations; for `config.applied`: added, removed, changed.",
  },
  durationMs: {
    type: "number",
    meaning: "Time from the start to the end of a sync, in milliseconds.",
  },
  end: { type: "number", meaning: "The offset after the last record to read." },
  endpointId: {
    type: "string",
    meaning: "Endpoint ID: the first 16 hex digits of the SHA-256 of its URL.",
  },
  endpointName: {
    type: "string",
    meaning:
      "Name of an endpoint, such as `crm-hook[1] crm.example.com`: destination, position, host. The endpoint's ID if the endpoint is no longer configured.",
  },
  err: { type: "error", meaning: "An error with `type`, `message` and `stack`." },
  error: { type: "string", meaning: "The failure, as a sentence." },
  event: { type: "string", meaning: "Kind of an operator event, such as destination.failing." },
  file: { type: "string", meaning: "The configuration file." },
  firstOffset: { type: "number", meaning: "Offset of the first record of a batch." },
  fix: { type: "string", meaning: "A command or setting that fixes the problem." },
  forwardedFor: { type: "string", meaning: "The sender's address, as a proxy reports it." },
  from: { type: "string", meaning: "Address of the sender." },
  group: {
    type: "string",
    meaning: "The consumer group, which names the stage and its destination or retry delay.",
  },
  hash: { type: "string", meaning: "Hash of the current configuration." },
  hint: { type: "string", meaning: "The consequence, and a remedy." },
  host: { type: "string", meaning: "The address on which the process listens." },
  instead: { type: "string", meaning: "The value that was set instead of the planned one." },
  job: { type: "string", meaning: "ID of an action that was started in the console." },
  key: { type: "string", meaning: "Name of the trait that an audience sets." },
  lastOffset: { type: "number", meaning: "Offset of the last record of a batch." },
  members: { type: "number", meaning: "Number of members of the audience after the sync." },
  message: { type: "string", meaning: "The message of the Kafka client." },
  messageId: { type: "string", meaning: "Message ID of the call, at most 100 characters." },
  namespace: { type: "string", meaning: "The part of the Kafka client that logged the line." },
  node: { type: "string", meaning: "Version of Node." },
  offset: { type: "number", meaning: "Offset of a record." },
  offsetMs: {
    type: "number",
    meaning: "How far a clock is ahead of the brokers' clock; negative if the clock is behind.",
  },
  omittedLines: {
    type: "number",
    meaning:
      "Number of lines of this kind that were omitted since the previous one, because at most ten per second are written.",
  },
  outcome: {
    type: "string",
    meaning:
      "How a sync ended (complete, awaiting-approval, approved, abandoned, count-mismatch or deleted), or how an action ended (done, failed or stopped).",
  },
  partition: { type: "number", meaning: "Number of a partition." },
  partitions: { type: "number", meaning: "Number of partitions of the topic." },
  planned: { type: "string", meaning: "The value that the topic plan has for a setting." },
  port: { type: "number", meaning: "The port on which the process listens." },
  problems: { type: "strings", meaning: "Each problem of the configuration, with its path." },
  progress: { type: "string", meaning: "What the action reported." },
  reason: { type: "string", meaning: "The reason of a dead letter, or of a rejected call." },
  received: { type: "number", meaning: "Number of distinct users in the sync." },
  removed: { type: "number", meaning: "Number of users who left the audience with this sync." },
  replacements: {
    type: "strings",
    meaning: "Parts of the Kafka client that Switchyard has replaced.",
  },
  request: {
    type: "string",
    meaning: "Kafka's name for the kind of request, such as Fetch.",
  },
  requests: {
    type: "objects",
    meaning:
      "For each endpoint: `endpointId`, `endpointName`, `status` or `cause`, and `durationMs`.",
  },
  retryAt: { type: "instant", meaning: "Time of the next try." },
  retryDelay: { type: "string", meaning: "The retry delay of a delay topic, such as 10s." },
  retryInMs: { type: "number", meaning: "The retry delay, in milliseconds." },
  schema: { type: "string or number", meaning: "ID or GUID of a schema in the registry." },
  setting: { type: "string", meaning: "Name of a topic's setting in Kafka." },
  settings: {
    type: "strings",
    meaning:
      "Names of settings. For `config.applied`, the changed settings that apply immediately, " +
      "without lists such as `sources`.",
  },
  signal: { type: "string", meaning: "The signal that requested the stop." },
  since: { type: "instant", meaning: "Time at which the reported state started." },
  source: { type: "string", meaning: "ID of a source." },
  sources: {
    type: "object",
    meaning: "IDs of sources, at most ten; for `config.applied`: added, removed, changed.",
  },
  stage: { type: "string", meaning: "Name of a stage." },
  stages: { type: "strings", meaning: "Names of stages." },
  state: {
    type: "string",
    meaning: "State of a circuit breaker: closed, open, half-open, recovering.",
  },
  storeState: {
    type: "string",
    meaning:
      "State of the local store compared with the changelog: current, behind, missing, or the reason for rebuilding the store: stale, ahead, foreign, corrupt.",
  },
  subject: {
    type: "string",
    meaning: "What an operator event is about, such as the ID of a destination.",
  },
  sumMs: {
    type: "number",
    meaning: "Sum of the throttle times since the previous line, in milliseconds.",
  },
  sync: { type: "string", meaning: "ID of a sync." },
  throttleMs: {
    type: "number",
    meaning: "Time for which the broker does not read from the connection, in milliseconds.",
  },
  topic: { type: "string", meaning: "Name of a topic." },
  topics: { type: "strings", meaning: "Names of topics." },
  unreachableForMs: {
    type: "number",
    meaning:
      "Time for which the broker or registry was, or has been, unreachable, in milliseconds.",
  },
  until: { type: "instant", meaning: "Time at which a pause or a time span ends." },
  url: { type: "string", meaning: "Address of the console." },
  version: { type: "string", meaning: "Version of Switchyard, or of the Kafka client." },
  waiting: { type: "number", meaning: "Number of schemas that are being looked up." },
  warnings: { type: "strings", meaning: "Questionable settings, one sentence each." },
} as const satisfies Readonly<Record<string, FieldSpec>>;

export type LogFieldName = keyof typeof LOG_FIELDS;
export type LogFieldValue<Name extends LogFieldName> =
  FieldTypes[(typeof LOG_FIELDS)[Name]["type"]];
