/** The fields of log lines: one meaning each, on whichever line. */

/** The types of fields, by their names on the page. */
export interface FieldTypes {
  readonly text: string;
  readonly "text or number": string | number;
  readonly texts: readonly string[];
  readonly number: number;
  /** ISO 8601, UTC, milliseconds. */
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
  action: { type: "object", meaning: "An action on the page, as it was asked for." },
  afterMs: { type: "number", meaning: "After so many milliseconds." },
  attempt: { type: "number", meaning: "The number of the attempt, from 1." },
  audience: { type: "text", meaning: "Id of an audience." },
  audiences: { type: "object", meaning: "Ids of audiences: added, removed, changed." },
  broker: { type: "text", meaning: "Address of a broker: host and port." },
  brokerId: { type: "number", meaning: "Id of a broker in its cluster." },
  by: {
    type: "text",
    meaning:
      "The author of a pause: configuration, command, console, or another one; or two of them. For `console.action.started`, how the sender authenticated: token, session, or no token required.",
  },
  cause: {
    type: "text",
    meaning:
      "The cause: for `kafka.waiting` a sentence, for `config.*` one of file, SIGHUP, request, start, topics; for `operator-events.*` the status of the answer, or why there was none.",
  },
  clients: { type: "object", meaning: "Client IDs of other programs in a consumer group." },
  code: { type: "text", meaning: "Code of a refused request, as in the answer's body." },
  committed: { type: "number", meaning: "The offset that was committed." },
  connections: { type: "number", meaning: "How many connections are taken at a time." },
  corruption: { type: "text", meaning: "The corruption of a batch, as a sentence." },
  count: { type: "number", meaning: "How many calls, sources, spans or records." },
  decision: {
    type: "text",
    meaning: "The outcome of the whole attempt: accepted, retry, rejected, expired.",
  },
  destination: { type: "text", meaning: "Id of a destination." },
  destinations: {
    type: "object",
    meaning: "Ids of destinations; for `config.applied`: added, removed, changed.",
  },
  durationMs: { type: "number", meaning: "From begin to end of a sync, in milliseconds." },
  end: { type: "number", meaning: "The offset behind the last record to read." },
  endpointId: {
    type: "text",
    meaning: "Endpoint ID: the first 16 hex digits of the SHA-256 of its URL.",
  },
  endpointName: {
    type: "text",
    meaning:
      "Name of an endpoint, such as `crm-hook[1] crm.example.com`: destination, place, host. Its ID where it is not configured any more.",
  },
  err: { type: "error", meaning: "An error with `type`, `message` and `stack`." },
  error: { type: "text", meaning: "The failure, as a sentence." },
  event: { type: "text", meaning: "Kind of an event for people, such as destination.failing." },
  file: { type: "text", meaning: "The configuration's file." },
  firstOffset: { type: "number", meaning: "Offset of the first record of a batch." },
  fix: { type: "text", meaning: "A command or setting that puts it right." },
  forwardedFor: { type: "text", meaning: "The sender, as a proxy names it." },
  from: { type: "text", meaning: "Address of the sender." },
  group: {
    type: "text",
    meaning: "The consumer group, which names the stage and its destination or retry delay.",
  },
  hash: { type: "text", meaning: "Hash of the configuration that runs." },
  hint: { type: "text", meaning: "The consequence, and a remedy." },
  host: { type: "text", meaning: "The address that is listened on." },
  instead: { type: "text", meaning: "The value that was set instead of the planned one." },
  job: { type: "text", meaning: "Id of an action that was begun on the page." },
  key: { type: "text", meaning: "The trait's name of an audience." },
  lastOffset: { type: "number", meaning: "Offset of the last record of a batch." },
  members: { type: "number", meaning: "Members of the audience after the sync." },
  message: { type: "text", meaning: "The line of the Kafka client." },
  messageId: { type: "text", meaning: "Message id of the call, at most 100 characters." },
  namespace: { type: "text", meaning: "The part of the Kafka client that says it." },
  node: { type: "text", meaning: "Version of Node." },
  offset: { type: "number", meaning: "Offset of a record." },
  offsetMs: {
    type: "number",
    meaning: "How far a clock is ahead of the brokers' clock; negative: behind.",
  },
  omittedLines: {
    type: "number",
    meaning:
      "Lines of this kind that were omitted since the last one: at most ten a second are written.",
  },
  outcome: {
    type: "text",
    meaning:
      "How a sync ended: complete, awaiting-approval, approved, abandoned, count-mismatch, deleted; or an action: done, failed, stopped.",
  },
  partition: { type: "number", meaning: "Number of a partition." },
  partitions: { type: "number", meaning: "How many partitions the topic has." },
  planned: { type: "text", meaning: "The value that the topic plan has for a setting." },
  port: { type: "number", meaning: "The port that is listened on." },
  problems: { type: "texts", meaning: "Each problem of the configuration, with its path." },
  progress: { type: "text", meaning: "What the action reported." },
  reason: { type: "text", meaning: "The reason of a dead letter, or of a call that was left out." },
  received: { type: "number", meaning: "Distinct users that the sync named." },
  removed: { type: "number", meaning: "Users who left the audience with this sync." },
  replacements: {
    type: "texts",
    meaning: "Parts of the Kafka client that Switchyard has replaced.",
  },
  request: {
    type: "text",
    meaning: "Kafka's name of a kind of request, such as Fetch.",
  },
  requests: {
    type: "objects",
    meaning: "Per endpoint: `endpointId`, `endpointName`, `status` or `cause`, and `durationMs`.",
  },
  retryAt: { type: "instant", meaning: "When it is tried again." },
  retryDelay: { type: "text", meaning: "The retry delay of a delay topic, such as 10s." },
  retryInMs: { type: "number", meaning: "The retry delay, in milliseconds." },
  schema: { type: "text or number", meaning: "Id or GUID of a schema in the registry." },
  setting: { type: "text", meaning: "Name of a topic's setting, as Kafka has it." },
  settings: {
    type: "texts",
    meaning:
      "Names of settings; for `config.applied`: those outside the lists, which apply at once.",
  },
  signal: { type: "text", meaning: "The signal that asked for the stop." },
  since: { type: "instant", meaning: "Since when." },
  source: { type: "text", meaning: "Id of a source." },
  sources: {
    type: "object",
    meaning: "Ids of sources, at most ten; for `config.applied`: added, removed, changed.",
  },
  stage: { type: "text", meaning: "Name of a stage." },
  stages: { type: "texts", meaning: "Names of stages." },
  state: { type: "text", meaning: "State of a breaker: closed, open, half-open, recovering." },
  storeState: {
    type: "text",
    meaning:
      "How the local store compares to the changelog: current, behind, missing, or why it is rebuilt: stale, ahead, foreign, corrupt.",
  },
  subject: { type: "text", meaning: "The thing that an event for people is about." },
  sumMs: { type: "number", meaning: "Sum of the times since the line before, in milliseconds." },
  sync: { type: "text", meaning: "Id of a sync." },
  throttleMs: {
    type: "number",
    meaning: "How long the broker reads nothing more from the connection, in milliseconds.",
  },
  topic: { type: "text", meaning: "Name of a topic." },
  topics: { type: "texts", meaning: "Names of topics." },
  unreachableForMs: {
    type: "number",
    meaning: "How long it was, or has been, away, in milliseconds.",
  },
  until: { type: "instant", meaning: "When a pause, or a time span, is over." },
  url: { type: "text", meaning: "Address of the page for people." },
  version: { type: "text", meaning: "Version of Switchyard, or of the Kafka client." },
  waiting: { type: "number", meaning: "How many schemas are waited for." },
  warnings: { type: "texts", meaning: "Questionable settings, a sentence each." },
} as const satisfies Readonly<Record<string, FieldSpec>>;

export type LogFieldName = keyof typeof LOG_FIELDS;
export type LogFieldValue<Name extends LogFieldName> =
  FieldTypes[(typeof LOG_FIELDS)[Name]["type"]];
