/**
 * Responses of hostile endpoints: each has a start, and endless bytes that follow.
 *
 *   outcome      the deliver stage treats the response as
 *   a status     a response: its status line was complete
 *   protocol     no response: the bytes are not a response, or more than may be read for one
 *                arrived before its status
 *   reset        no response: the connection has ended before the response
 *   timeout      no response: the deadline has passed
 */

export interface HostileResponse {
  /** The name is also the path at which the server sends this response. */
  readonly name: string;
  readonly start: string;
  /** Repeated as fast as it is read. The number makes each repetition different. */
  readonly more: ((number: number) => string) | null;
  /** How many bytes are written at a time. */
  readonly write: "much" | "byte";
  /** How the connection ends if nothing follows `start`. */
  readonly end: "wait" | "close" | "reset";
  /** The allowed outcomes. */
  readonly outcomes: readonly Outcome[];
  /** True if only the deadline ends the request, even if its outcome is known earlier. */
  readonly lasts?: true;
}

type Outcome = number | "protocol" | "reset" | "timeout";

const HEAD = "HTTP/1.1 200 OK\r\n";
const OK = `${HEAD}Content-Length: 2\r\n\r\nok`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const HINTS = "HTTP/1.1 103 Early Hints\r\n";

function floods(
  name: string,
  start: string,
  more: string,
  ...outcomes: readonly Outcome[]
): HostileResponse {
  return { name, start, more: () => more, write: "much", end: "wait", outcomes };
}

function counts(
  name: string,
  start: string,
  more: (number: number) => string,
  outcome: Outcome,
): HostileResponse {
  return { name, start, more, write: "much", end: "wait", outcomes: [outcome] };
}

/** Writes the same bytes one at a time. On a busy machine, this may last until the deadline. */
function drips(response: HostileResponse, name: string): HostileResponse {
  return { ...response, name, write: "byte", outcomes: [...response.outcomes, "timeout"] };
}

function says(
  name: string,
  start: string,
  outcome: Outcome,
  end: HostileResponse["end"] = "wait",
): HostileResponse {
  return { name, start, more: null, write: "much", end, outcomes: [outcome] };
}

/** On a busy machine, the deadline may pass before the status is read. */
function lasts(name: string, start: string, ...outcomes: readonly Outcome[]): HostileResponse {
  return { name, start, more: null, write: "much", end: "wait", outcomes, lasts: true };
}

/** Returns this many headers with different names. */
function numbered(count: number): string {
  return Array.from({ length: count }, (_, number) => `${number.toString(36)}:\r\n`).join("");
}

const IN_HEAD: readonly HostileResponse[] = [
  floods("tiny-headers", HEAD, "a:\r\n", 200),
  counts("new-headers", HEAD, (number) => `${number.toString(36)}:\r\n`, 200),
  counts("retry-afters", HEAD, (number) => `Retry-After: ${number}\r\n`, 200),
  floods("connections", HEAD, "connection:a\r\n", 200),
  floods("keep-alives", HEAD, "keep-alive:a\r\n", 200),
  floods("set-cookies", HEAD, `Set-Cookie: ${"c".repeat(4_000)}\r\n`, 200),
  floods("lengths", HEAD, "content-length:1\r\n", 200),
  floods("header-value", `${HEAD}a:`, "b", 200),
  floods("header-name", HEAD, "a", 200),
  floods("folded-header", `${HEAD}a: b\r\n`, " c\r\n", 200),
  floods("no-colon", HEAD, "nothing\r\n", 200),
  floods("reason", "HTTP/1.1 200 ", "y", "protocol"),
  floods("version", "HTTP/1.", "1", "protocol"),
  floods("blank-lines", "", "\r\n", "protocol"),
  floods("line-feeds", "", "\n", "protocol"),
  floods("zero-bytes", "", "\0", "protocol"),
  says("many-headers", `${HEAD}${"a:\r\n".repeat(5_500)}Content-Length: 0\r\n\r\n`, 200),
  says("many-new-headers", `${HEAD}${numbered(4_000)}Content-Length: 0\r\n\r\n`, 200),
  says("some-headers", `${HEAD}${numbered(600)}Content-Length: 0\r\n\r\n`, 200),
  floods("high-bytes", `${HEAD}a: `, "\xff", 200),
];

const INTERIM: readonly HostileResponse[] = [
  floods("continues", "", "HTTP/1.1 100 Continue\r\n\r\n", "protocol"),
  floods("processings", "", "HTTP/1.1 102 \r\n\r\n", "protocol"),
  floods("hints", "", `${HINTS}Link: x\r\n\r\n`, "protocol"),
  floods("hint-headers", HINTS, "a:\r\n", "protocol"),
  counts("new-hint-headers", HINTS, (number) => `${number.toString(36)}:\r\n`, "protocol"),
  floods("hint-value", `${HINTS}a: `, "b", "protocol"),
  says("hints-then-response", `${`${HINTS}Link: x\r\n\r\n`.repeat(5_000)}${OK}`, "protocol"),
  says("few-hints-then-response", `${`${HINTS}Link: x\r\n\r\n`.repeat(50)}${OK}`, 200),
];

const IN_FRAMING: readonly HostileResponse[] = [
  floods("tiny-chunks", CHUNKED, "1\r\nx\r\n", 200),
  floods("tiny-extensions", CHUNKED, "1;a\r\nx\r\n", 200),
  floods("many-extensions", `${CHUNKED}2`, ";a=b", 200),
  floods("chunk-extension", `${CHUNKED}2;`, "x", 200),
  floods("quoted-extension", `${CHUNKED}2;a="`, "x", 200),
  floods("chunk-size-zeros", CHUNKED, "0", 200),
  floods("tiny-trailers", `${CHUNKED}0\r\n`, "a:\r\n", 200),
  counts("new-trailers", `${CHUNKED}0\r\n`, (number) => `${number.toString(36)}:\r\n`, 200),
  floods("trailer-value", `${CHUNKED}0\r\na: `, "b", 200),
  says("no-chunk-size", `${CHUNKED}xyz\r\n`, 200),
];

const IN_BODY: readonly HostileResponse[] = [
  floods("endless-body", `${HEAD}\r\n`, "more", 200),
  floods("endless-length", `${HEAD}Content-Length: 999999999999\r\n\r\n`, "more", 200),
  floods("endless-chunks", CHUNKED, `1000\r\n${"x".repeat(4_096)}\r\n`, 200),
  floods("newlines", `${HEAD}\r\n`, "\n", 200),
];

/** The next request over the same connection may get the rest of the previous response. */
const AFTER: readonly HostileResponse[] = [
  floods("second-responses", OK, OK, 200),
  floods("blank-lines-after", OK, "\r\n", 200, "protocol"),
  floods("hints-after", OK, `${HINTS}\r\n`, 200, "protocol"),
];

/** Faults that honest servers also have. */
const FAULTS: readonly HostileResponse[] = [
  says("equal-lengths", `${HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`, 200),
  says(
    "length-and-chunks",
    `${HEAD}Content-Length: 2\r\n${CHUNKED.slice(HEAD.length)}0\r\n\r\n`,
    200,
  ),
  says("bare-line-feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200),
  says("different-lengths", `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, "protocol"),
];

const OTHERS: readonly HostileResponse[] = [
  says("closes", "", "reset", "close"),
  says("resets", "", "reset", "reset"),
  says("cut-short", `${HEAD}Content-Length: 9\r\n\r\nhalf`, 200, "close"),
  says("reset-in-body", `${HEAD}Content-Length: 9\r\n\r\nhalf`, 200, "reset"),
  lasts("silent", "", "timeout"),
  lasts("half-a-head", `${HEAD}Content-`, 200, "timeout"),
  lasts("half-a-body", `${HEAD}Content-Length: 9\r\n\r\nhalf`, 200, "timeout"),
  says("switches", "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "protocol"),
  says("http-2", "\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64", "protocol"),
  says("ssh", "SSH-2.0-OpenSSH_9.6\r\n", "protocol"),
];

const WHOLE: readonly HostileResponse[] = [
  ...IN_HEAD,
  ...INTERIM,
  ...IN_FRAMING,
  ...IN_BODY,
  ...AFTER,
  ...FAULTS,
  ...OTHERS,
];

/** Responses whose cost may depend on the number of pieces in which they arrive. */
const IN_BYTES = [
  "tiny-headers",
  "header-value",
  "hint-value",
  "continues",
  "blank-lines",
  "tiny-chunks",
  "chunk-extension",
  "tiny-trailers",
  "endless-body",
];

export const HOSTILE_RESPONSES: readonly HostileResponse[] = [
  ...WHOLE,
  ...WHOLE.filter(({ name }) => IN_BYTES.includes(name)).map((response) =>
    drips(response, `${response.name}-in-bytes`),
  ),
];
