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
  audiences: {
    type: "object",
    meaning: "IDs of audiences, as lists `added`, `removed` and `changed`.",
  },
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
      "In `kafka.waiting`, a sentence; in `config.*`, one of file, SIGHUP, request, start, topics; " +
      "in `operator-webhook.*`, the response's status, or the reason why there was none.",
  },
  clients: { type: "object", meaning: "Client IDs of other programs in a consumer group." },
  code: { type: "string", meaning: "Code of a rejected request, as in the response body." },
  committed: { type: "number" },
  connections: { type: "number" },
  corruption: { type: "string" },
  count: { type: "number", meaning: "Number of calls, sources, spans or records." },
  decision: {
    type: "string",
    meaning: "The outcome of the whole attempt: accepted, retry, rejected, expired.",
  },
  destination: { type: "string" },
  destinations: {
    type: "object",
    meaning: "IDs of destinations; in `config.applied`, as lists `added`, `removed` and `changed`.",
  },
  durationMs: {
    type: "number",
  },
  end: { type: "number", meaning: "The offset after the last record to read." },
  endpointId: {
    type: "string",
    meaning: "Endpoint ID: the first 16 hex digits of the SHA-256 of its URL.",
  },
  endpointName: {
    type: "string",
    meaning:
      "Destination, position and host of an endpoint, such as `crm-hook[1] crm.example.com`, " +
      "or its ID if it is no longer configured.",
  },
  err: { type: "error", meaning: "An error with `type`, `message` and `stack`." },
  error: { type: "string", meaning: "The failure, as a sentence." },
  event: { type: "string", meaning: "Kind of an operator event, such as destination.failing." },
  file: { type: "string" },
  firstOffset: { type: "number" },
  fix: { type: "string", meaning: "A command or setting that fixes the problem." },
  forwardedFor: { type: "string" },
  from: { type: "string" },
  group: {
    type: "string",
  },
  hash: { type: "string" },
  hint: { type: "string", meaning: "The consequence, and a remedy." },
  host: { type: "string" },
  instead: { type: "string", meaning: "The value that was set instead of the planned one." },
  job: { type: "string" },
  key: { type: "string", meaning: "Name of the trait that an audience sets." },
  lastOffset: { type: "number" },
  members: { type: "number" },
  message: { type: "string" },
  messageId: { type: "string", meaning: "Message ID of the call, at most 100 characters." },
  namespace: { type: "string" },
  node: { type: "string" },
  offset: { type: "number" },
  offsetMs: {
    type: "number",
    meaning: "How far a clock is ahead of the brokers' clock; negative if the clock is behind.",
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
      "How a sync ended (complete, awaiting-approval, approved, abandoned, count-mismatch or deleted), or how an action ended (done, failed or stopped).",
  },
  partition: { type: "number" },
  partitions: { type: "number" },
  planned: { type: "string", meaning: "The value that the topic plan has for a setting." },
  port: { type: "number" },
  problems: { type: "strings", meaning: "Each problem of the configuration, with its path." },
  progress: { type: "string" },
  reason: { type: "string", meaning: "The reason of a dead letter, or of a rejected call." },
  received: { type: "number" },
  removed: { type: "number" },
  replacements: {
    type: "strings",
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
  retryAt: { type: "instant" },
  retryDelay: { type: "string" },
  retryInMs: { type: "number" },
  schema: { type: "string or number", meaning: "ID or GUID of a schema in the registry." },
  setting: { type: "string" },
  settings: {
    type: "strings",
    meaning:
      "Names of settings. For `config.applied`, those that apply immediately, without lists " +
      "such as `sources`.",
  },
  signal: { type: "string" },
  since: { type: "instant", meaning: "Time at which the reported state started." },
  source: { type: "string" },
  sources: {
    type: "object",
    meaning:
      "IDs of sources, at most ten; in `config.applied`, as lists `added`, `removed` and `changed`.",
  },
  stage: { type: "string" },
  stages: { type: "strings" },
  state: {
    type: "string",
    meaning: "State of a circuit breaker: closed, open, half-open, recovering.",
  },
  storeState: {
    type: "string",
    meaning:
      "State of the local store compared with the changelog: current, behind or missing; or the " +
      "reason why it is rebuilt: stale, ahead, foreign or corrupt.",
  },
  subject: {
    type: "string",
    meaning: "What an operator event is about, such as the ID of a destination.",
  },
  sumMs: {
    type: "number",
    meaning: "Sum of the throttle times since the previous line.",
  },
  sync: { type: "string" },
  throttleMs: {
    type: "number",
    meaning: "Time for which the broker does not read from the connection.",
  },
  topic: { type: "string" },
  topics: { type: "strings" },
  unreachableForMs: {
    type: "number",
    meaning: "Time for which the broker or registry has been unreachable.",
  },
  until: { type: "instant", meaning: "Time at which a pause or a time span ends." },
  url: { type: "string" },
  version: { type: "string" },
  waiting: { type: "number", meaning: "Number of schemas that are being looked up." },
  warnings: { type: "strings" },
} as const satisfies Readonly<Record<string, FieldSpec>>;

export type LogFieldName = keyof typeof LOG_FIELDS;
export type LogFieldValue<Name extends LogFieldName> =
  FieldTypes[(typeof LOG_FIELDS)[Name]["type"]];
