/** Validates the options of the library, and completes them with defaults and with values from the environment. */

import { type LostCall, type SentBatch, ValidationError } from "./client-error.ts";
import { BATCH_MAX_BYTES } from "./encode.ts";
import type { Fetch } from "./fetch.ts";

export interface AnalyticsOptions {
  /**
   * Number of waiting calls at which a request is made; also the maximum number of calls in a request. Default 20. If
   * the value is 1, each call is sent immediately.
   */
  readonly flushAt?: number | undefined;
  /** Another name for `flushAt`. */
  readonly size?: number | undefined;
  /** Maximum time between flushes while calls are waiting, in milliseconds. Default 5,000. */
  readonly flushAfter?: number | undefined;
  /** Base URL of the ingest endpoint. Default: the variable SWITCHYARD_ENDPOINT, otherwise http://localhost:8080. */
  readonly endpoint?: string | undefined;
  /** Called for every lost call. If not set, the first loss for each reason is passed to `log`. */
  readonly onError?: ((lost: LostCall) => void) | undefined;
  /** Called for every batch that the endpoint has acknowledged. */
  readonly onSuccess?: ((sent: SentBatch) => void) | undefined;
  /** If `true`, calls are validated but not sent, for example in tests. Default false. */
  readonly disable?: boolean | undefined;
  /** Maximum number of requests for a batch, including the first one, after which its calls are lost. Default 10. */
  readonly attemptsMax?: number | undefined;
  /** Time limit of one request with its response, in milliseconds. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Maximum number of calls in memory, including those in a request. Default 10,000, at least `flushAt`. */
  readonly queueCallsMax?: number | undefined;
  /** Maximum number of bytes of JSON in memory. Default 32 MiB, at least 500 KB. */
  readonly queueBytesMax?: number | undefined;
  /** If `true`, logs what the library does, without payloads. Default: `true` if DEBUG names `analytics`. */
  readonly debug?: boolean | undefined;
  /** If `true`, also logs the JSON of each call. Default: `true` if DEBUG names `analytics:payload`. */
  readonly debugPayloads?: boolean | undefined;
  /** Called with each log line. Default: standard error. */
  readonly log?: ((line: string) => void) | undefined;
  /** Makes the requests, for example through a proxy. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
}

interface Environment {
  readonly endpoint: string | undefined;
  readonly debug: string | undefined;
}

export interface Settings {
  readonly writeKey: string;
  /** The URL to which batches are posted. */
  readonly url: string;
  readonly flushAt: number;
  readonly flushAfterMs: number;
  readonly attemptsMax: number;
  readonly requestTimeoutMs: number;
  readonly queue: { readonly callsMax: number; readonly maxBytes: number };
  readonly debug: boolean;
  readonly debugPayloads: boolean;
  readonly onError: ((lost: LostCall) => void) | null;
  readonly onSuccess: ((sent: SentBatch) => void) | null;
  readonly disable: boolean;
  readonly log: ((line: string) => void) | null;
  readonly fetch: Fetch | null;
}

type Name = keyof AnalyticsOptions;

const KINDS: Readonly<Record<Name, "number" | "string" | "boolean" | "function">> = {
  flushAt: "number",
  size: "number",
  flushAfter: "number",
  endpoint: "string",
  onError: "function",
  onSuccess: "function",
  disable: "boolean",
  attemptsMax: "number",
  requestTimeoutMs: "number",
  queueCallsMax: "number",
  queueBytesMax: "number",
  debug: "boolean",
  debugPayloads: "boolean",
  log: "function",
  fetch: "function",
};

/** Names of options of @segment/analytics-node, each with what replaces it here. */
const SEGMENT_NAMES: Readonly<Record<string, string>> = {
  writeKey: "the first argument: new Analytics(writeKey, options)",
  host: "endpoint",
  path: "endpoint, to which /v1/batch is added",
  maxEventsInBatch: "flushAt",
  flushInterval: "flushAfter",
  maxRetries: "attemptsMax, which includes the first request",
  httpRequestTimeout: "requestTimeoutMs",
  httpClient: "fetch",
};

/** The longest time that a timer supports. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** @throws ValidationError that names the invalid option. */
export function readOptions(
  writeKey: unknown,
  options: AnalyticsOptions,
  environment: Environment,
): Settings {
  rejectUnknown(options);
  const flushAt = readFlushAt(options);
  const debugNames = (environment.debug ?? "").split(/[\s,]+/);
  return {
    writeKey: readWriteKey(writeKey),
    url: batchUrl(options.endpoint ?? (environment.endpoint || "http://localhost:8080")),
    flushAt,
    flushAfterMs: whole("flushAfter", options.flushAfter ?? 5_000, 0, TIMER_MAX_MS),
    attemptsMax: whole("attemptsMax", options.attemptsMax ?? 10, 1),
    requestTimeoutMs: whole(
      "requestTimeoutMs",
      options.requestTimeoutMs ?? 10_000,
      1,
      TIMER_MAX_MS,
    ),
    queue: {
      callsMax: whole("queueCallsMax", options.queueCallsMax ?? Math.max(10_000, flushAt), flushAt),
      maxBytes: whole("queueBytesMax", options.queueBytesMax ?? 32 * 2 ** 20, BATCH_MAX_BYTES),
    },
    debug: options.debug ?? debugNames.some((name) => /^(analytics(:?\*)?|\*)$/.test(name)),
    // No wildcard enables this, because payloads are personal data.
    debugPayloads: options.debugPayloads ?? debugNames.includes("analytics:payload"),
    onError: options.onError ?? null,
    onSuccess: options.onSuccess ?? null,
    disable: options.disable ?? false,
    log: options.log ?? null,
    fetch: options.fetch ?? null,
  };
}

function rejectUnknown(options: AnalyticsOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new ValidationError("options", "options must be an object");
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(KINDS, name)) {
      const known = Object.keys(KINDS).join(", ");
      const here = Object.hasOwn(SEGMENT_NAMES, name) ? `here it is ${SEGMENT_NAMES[name]}` : null;
      throw new ValidationError(
        name,
        `there is no option ${name}; ${here ?? `the options are ${known}`}`,
      );
    }
    const kind = KINDS[name as Name];
    if (typeof value === kind) continue;
    throw new ValidationError(name, `the option ${name} must be a ${kind}`);
  }
}

function readFlushAt({ flushAt, size }: AnalyticsOptions): number {
  if (flushAt !== undefined && size !== undefined && flushAt !== size) {
    const message =
      "flushAt and size are two names of one option; set one of them, or both to the same value";
    throw new ValidationError("size", message);
  }
  return flushAt === undefined && size !== undefined
    ? whole("size", size, 1)
    : whole("flushAt", flushAt ?? 20, 1);
}

function whole(name: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `from ${min} to ${max}`;
  throw new ValidationError(name, `the option ${name} must be an integer, ${range}`);
}

/** The key is sent as the user name of HTTP Basic authentication, so it must not contain a colon. */
function readWriteKey(writeKey: unknown): string {
  if (typeof writeKey === "string" && /^[^:\p{Cc}]+$/u.test(writeKey)) return writeKey;
  if (typeof writeKey === "object" && writeKey !== null && "writeKey" in writeKey) {
    const options = "new Analytics(writeKey, { endpoint, flushAt, flushAfter })";
    const message = `the write key is the first argument, and the options are the second: ${options}`;
    throw new ValidationError("writeKey", message);
  }
  const message = "the write key must be a string that is not empty, without colons or line breaks";
  throw new ValidationError("writeKey", message);
}

function batchUrl(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  const isBase =
    url !== null &&
    (url.protocol === "http:" || url.protocol === "https:") &&
    `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (isBase) return `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1/batch`;
  const message =
    "the endpoint must be a base URL such as https://ingest.example.com: http or https, " +
    "without user name, password, query or fragment";
  throw new ValidationError("endpoint", message);
}
