/**
 * Keeps the head of a response until the parser has read it. A parser that finds an error in a head reports nothing
 * about the head, not even the status. So the head is passed to the parser only when it is complete. If the parser
 * cannot read the head, or if the rest never arrives, this code reads the head, less strictly.
 *
 *   the status line is complete, and                  Go, curl and Python     read here
 *   two equal lengths, or a length and chunks         accept the response     the status
 *   line feeds without carriage returns               accept it               the status
 *   a folded header, an odd byte in a value           differ                  the status
 *   a line without a colon, a space in a name         differ                  the status
 *   a length that is not a number: `two`, `+5`, `-1`  differ                  the status
 *   a head that is too long, or that never ends       fail                    the status
 *   two different lengths                             fail (Python: differs)  nothing: `null`
 *   its status is 1xx                                 wait for the next one   nothing: `null`
 *
 *   no status line: another protocol, a status that
 *   is not a number of three digits, a truncated line fail                    nothing: `null`
 *
 * If the status of a final response was read here, it counts even if reading the body fails, for example because a
 * chunk has no size, bytes are missing, or the deadline expires. In each of these cases, the connection is closed
 * (docs/retries.md#malformed-responses).
 */

const BEGINNING = Buffer.from("HTTP/");
const END = Buffer.from("\r\n\r\n");
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Matches the status line in the same way as Go: with any version, any number of spaces, and with or without a reason.
 */
const STATUS_LINE = /^HTTP\/\d\.\d +([1-9]\d\d)(?: .*)?$/s;
const HEADER = /^([^:]*[^:\s])\s*:(.*)$/s;

interface ReadHead {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The length of the head, including the blank line; -1 if the end is missing. */
  readonly bytes: number;
}

export class ResponseHead {
  /** The bytes of the head so far; the last buffer may extend past the end of the head. */
  #bytes: Buffer | null = null;

  /** Call before each response, and when the parser has read the head. */
  forget(): void {
    this.#bytes = null;
  }

  /**
   * Adds bytes. Most heads arrive in one buffer, together with the start of the body.
   *
   * @returns the bytes so far if they contain a complete head, or are not a head; null if more bytes are needed.
   */
  take(piece: Buffer): Buffer | null {
    const before = this.#bytes;
    const bytes = before === null ? piece : Buffer.concat([before, piece]);
    this.#bytes = bytes;
    if (!mayBeHead(bytes)) return bytes;
    // The blank line at the end may have started in the previous buffer.
    const from = before === null ? 0 : Math.max(0, before.length - END.length);
    return bytes.includes(END, from) || endOf(bytes, from) >= 0 ? bytes : null;
  }

  /** Reads a head that the parser could not read. Returns null if the final status is unknown. */
  read(): ReadHead | null {
    return this.#bytes === null ? null : readHead(this.#bytes);
  }
}

function mayBeHead(bytes: Buffer): boolean {
  const compared = Math.min(bytes.length, BEGINNING.length);
  return bytes.compare(BEGINNING, 0, compared, 0, compared) === 0;
}

/** Returns the offset after the first blank line at or after `at`; -1 if there is none. */
function endOf(bytes: Buffer, at: number): number {
  let feed = bytes.indexOf(LINE_FEED, at);
  while (feed >= 0) {
    const next = bytes[feed + 1] === CARRIAGE_RETURN ? feed + 2 : feed + 1;
    if (bytes[next] === LINE_FEED) return next + 1;
    feed = bytes.indexOf(LINE_FEED, feed + 1);
  }
  return -1;
}

function readHead(bytes: Buffer): ReadHead | null {
  const end = endOf(bytes, 0);
  const lines = bytes.toString("latin1", 0, end < 0 ? bytes.length : end).split(/\r?\n/);
  // The last line is incomplete.
  lines.pop();
  const [statusLine = "", ...headers] = lines;
  const status = Number(STATUS_LINE.exec(statusLine)?.[1] ?? 0);
  if (status < 200) return null;
  const lengths = new Set<string>();
  const retryAfter: string[] = [];
  for (const [name, value] of unfolded(headers)) {
    if (name === "retry-after") retryAfter.push(value);
    if (name !== "content-length") continue;
    for (const length of value.split(",")) lengths.add(length.trim().replace(/^0+(?=\d)/, ""));
  }
  if (lengths.size > 1) return null;
  return { status, retryAfter: retryAfter.length === 0 ? null : retryAfter.join(), bytes: end };
}

/** Lines that are not headers are skipped. */
function unfolded(lines: readonly string[]): [name: string, value: string][] {
  const headers: [string, string][] = [];
  for (const line of lines) {
    const last = headers.at(-1);
    if (/^[ \t]/.test(line) && last !== undefined) {
      last[1] = `${last[1]} ${line}`.trim();
      continue;
    }
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers.push([name.toLowerCase(), value.trim()]);
  }
  return headers;
}

const STATUS_END = "HTTP/1.1 100".length;
const STATUS_AT = "HTTP/1.1 ".length;
const DIGIT_1 = 0x31;
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d$/;
/** Matches the part of an interim response's head that has been received. */
const BEGUN = /^H(T(T(P(\/(1(\.([01]( (1\d?)?)?)?)?)?)?)?)?)?$/;
const NOTHING = Buffer.alloc(0);

/** The part of the blank line that has been received: the end of the previous line, then a carriage return. */
type EndSeen = "nothing" | "line feed" | "carriage return";

/**
 * Removes interim responses (1xx) from the bytes of one response. A client must be able to skip interim responses (RFC
 * 9110, 15.2) even if it did not request any; undici drops the connection on `100 Continue`.
 *
 *   the bytes so far                          passed on
 *   a response with a final status, or 101    unchanged, with everything after it
 *   a complete interim response               the rest, which may be another one
 *   the start of an interim response          nothing; it is discarded immediately
 *   too few bytes to decide                   nothing, until more have arrived
 *
 * Lines may end with only a line feed, as in the code that reads the response.
 */
export class InterimFilter {
  /** The start of a status line that is too short to decide. */
  #kept: Buffer | null = null;
  /**
   * The part of the end of an interim response that has been received; null if no interim response is being skipped.
   */
  #endSeen: EndSeen | null = null;

  /** Call before each response. */
  reset(): void {
    this.#kept = null;
    this.#endSeen = null;
  }

  /** @returns the final response once its first byte has arrived; null until then. */
  take(chunk: Buffer): Buffer | null {
    let bytes = this.#kept === null ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = null;
    for (;;) {
      if (this.#endSeen !== null) bytes = this.#afterEnd(bytes, this.#endSeen);
      if (bytes.length === 0) return null;
      // The fast path: nearly every response has a final status.
      if (bytes.length >= STATUS_END && bytes[STATUS_AT] !== DIGIT_1) return bytes;
      const head = bytes.toString("latin1", 0, STATUS_END);
      if (INTERIM.test(head)) {
        this.#endSeen = "nothing";
      } else if (head.length < STATUS_END && BEGUN.test(head)) {
        this.#kept = bytes;
        return null;
      } else {
        return bytes;
      }
    }
  }

  /** @returns the bytes after the interim response; empty if more of the interim response will follow. */
  #afterEnd(bytes: Buffer, seen: EndSeen): Buffer {
    let matched = seen;
    for (let at = 0; at < bytes.length; at += 1) {
      // Skips to the next line end.
      if (matched === "nothing") at = bytes.indexOf(LINE_FEED, at);
      if (at < 0) break;
      const byte = bytes[at];
      if (byte === LINE_FEED) {
        if (matched !== "nothing") {
          this.#endSeen = null;
          return bytes.subarray(at + 1);
        }
        matched = "line feed";
      } else {
        const isBlank = matched === "line feed" && byte === CARRIAGE_RETURN;
        matched = isBlank ? "carriage return" : "nothing";
      }
    }
    this.#endSeen = matched;
    return NOTHING;
  }
}
