/**
 * Keeps the head of a response until the parser has read it. A parser that finds a fault in a head
 * tells nothing of it, not even its status. So the head is handed to the parser whole, and is read
 * here, without strictness, when the parser could not or the rest never came.
 *
 *   the status line has come whole, and               Go, curl and Python     read here
 *   two equal lengths, or a length and chunks         take the response       the status
 *   line feeds without carriage returns               take it                 the status
 *   a folded header, an odd byte in a value           differ                  the status
 *   a line without a colon, a blank in a name         differ                  the status
 *   a length that is no number: `two`, `+5`, `-1`     differ                  the status
 *   a head that is too long, or that never ends       fail                    the status
 *   two different lengths                             fail (Python: differs)  nothing: `null`
 *   its status is 1xx                                 wait for the final one  nothing: `null`
 *
 *   no status line: another protocol, a status that
 *   is no number of three digits, cut short           fail                    nothing: `null`
 *
 * A final response that was read otherwise is taken whatever becomes of its body: chunks without a
 * size, less of it than its length says, a deadline. In each of these cases the connection is closed
 * (docs/delivery.md#malformed-responses).
 */

const BEGINNING = Buffer.from("HTTP/");
const END = Buffer.from("\r\n\r\n");
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** As Go reads it: any version, any number of blanks, a reason or none. */
const STATUS_LINE = /^HTTP\/\d\.\d +([1-9]\d\d)(?: .*)?$/s;
const HEADER = /^([^:]*[^:\s])\s*:(.*)$/s;

export interface ReadHead {
  readonly status: number;
  readonly retryAfter: string | null;
}

export class ResponseHead {
  /** The bytes of it so far; the last piece may go on behind its end. */
  #bytes: Buffer | null = null;

  /** Before each response, and when the parser has read the head. */
  forget(): void {
    this.#bytes = null;
  }

  /**
   * Most heads come in one piece and go on in it.
   *
   * @returns the bytes so far when they hold a whole head, or are none; else null: there will be more.
   */
  take(piece: Buffer): Buffer | null {
    const before = this.#bytes;
    const bytes = before === null ? piece : Buffer.concat([before, piece]);
    this.#bytes = bytes;
    if (!mayBeHead(bytes)) return bytes;
    // The end may have begun in the piece before.
    const from = before === null ? 0 : Math.max(0, before.length - END.length);
    return bytes.includes(END, from) || endOf(bytes, from) >= 0 ? bytes : null;
  }

  /** For a head that the parser did not read; null: nothing can be told of a final status. */
  read(): ReadHead | null {
    return this.#bytes === null ? null : readHead(this.#bytes);
  }
}

function mayBeHead(bytes: Buffer): boolean {
  const compared = Math.min(bytes.length, BEGINNING.length);
  return bytes.compare(BEGINNING, 0, compared, 0, compared) === 0;
}

/** The offset after the blank line that ends a head, from `at` on; -1: there is none. */
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
  // The last one has no end yet, and may go on.
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
  return { status, retryAfter: retryAfter.length === 0 ? null : retryAfter.join() };
}

/** Lines that are no header are left out. */
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
