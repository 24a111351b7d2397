/**
 * Takes interim responses (1xx) out of the bytes of one answer. A client must be able to skip
 * them (RFC 9110, 15.2) even if it never asked for any; undici drops the connection at `100
 * Continue`.
 *
 *   the bytes so far                          passed on
 *   a response with a final status, or 101    as it is, and so is everything after it
 *   a whole interim response                  the rest, which may be another one
 *   the beginning of an interim response      nothing; it is forgotten at once
 *   less than that can be told from           nothing, until more has come
 *
 * Lines may end in a line feed alone, as they may where the response is read.
 */

const STATUS_END = "HTTP/1.1 100".length;
const STATUS_AT = "HTTP/1.1 ".length;
const DIGIT_1 = 0x31;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d$/;
/** The bytes that the head of one may begin with. */
const BEGUN = /^H(T(T(P(\/(1(\.([01]( (1\d?)?)?)?)?)?)?)?)?)?$/;
const NOTHING = Buffer.alloc(0);

/** Of the blank line that ends it: the end of the line before, and a carriage return after that. */
type EndSeen = "nothing" | "line feed" | "carriage return";

export class InterimFilter {
  /** A part of a status line: too short to tell anything. */
  #kept: Buffer | null = null;
  /** The end of the bytes so far of an interim response; null: none is being skipped. */
  #endSeen: EndSeen | null = null;

  /** Before each answer. */
  reset(): void {
    this.#kept = null;
    this.#endSeen = null;
  }

  /** @returns the final response from its first byte on, or null while there is none of it. */
  take(chunk: Buffer): Buffer | null {
    let bytes = this.#kept === null ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = null;
    for (;;) {
      if (this.#endSeen !== null) bytes = this.#afterEnd(bytes, this.#endSeen);
      if (bytes.length === 0) return null;
      // Hardly any response has another than a final status: it shows at once.
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

  /** @returns the bytes after the interim response: none when it goes on. */
  #afterEnd(bytes: Buffer, seen: EndSeen): Buffer {
    let matched = seen;
    for (let at = 0; at < bytes.length; at += 1) {
      // Between two ends of lines there is nothing to look at.
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
