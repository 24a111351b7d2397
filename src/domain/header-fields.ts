/**
 * Reads fields directly from the bytes of a record's headers. Creating a buffer and a pair for each header would
 * take most of the time that is spent on a delivery's headers.
 *
 *   the header                        the field
 *   exists once                       has its value
 *   is repeated                       has the last one's value
 *   has Kafka's null as its value     is absent
 */

import { eachHeader, type WithHeaders } from "./record.ts";

/** A number with this many digits is below 2^53. */
const DIGITS_MAX = 15;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const ABSENT = -1;
/** Maximum number of headers whose names are stored, because producers may send any number of headers. */
const REMEMBERED_MAX = 32;

/**
 * Reads the fields of one record after another. A field's number is the position of its name in the constructor's
 * list.
 */
export class HeaderFields {
  readonly #fieldOf: ReadonlyMap<string, number>;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #texts: string[];
  /** The bytes that contain the first field, and usually all of them. */
  #bytes: Buffer = NO_BYTES;
  /** Indexed by field: the buffer of each field that is not in `#bytes`. */
  #others: Buffer[] = [];
  /**
   * The header names of the last record and the fields that they belong to, because most records have the same
   * names.
   */
  readonly #names: string[] = [];
  readonly #fields: number[] = [];
  #count = 0;

  constructor(names: readonly string[]) {
    this.#fieldOf = new Map(names.map((name, field) => [name, field]));
    this.#starts = new Int32Array(names.length);
    this.#ends = new Int32Array(names.length);
    this.#texts = names.map(() => "");
  }

  /** Makes this the record whose fields the other methods read. */
  read(record: WithHeaders): void {
    this.#starts.fill(ABSENT);
    this.#bytes = NO_BYTES;
    if (this.#others.length > 0) this.#others = [];
    this.#count = 0;
    eachHeader(record, this.#tell);
  }

  readonly #tell = (name: string, bytes: Buffer, start: number, end: number): void => {
    const field = this.#field(name);
    if (field === ABSENT || start < 0) return;
    if (this.#bytes === NO_BYTES) this.#bytes = bytes;
    if (bytes !== this.#bytes || this.#others.length > 0) this.#others[field] = bytes;
    this.#starts[field] = start;
    this.#ends[field] = end;
  };

  #field(name: string): number {
    const index = this.#count++;
    const isSame = this.#names[index] === name;
    const field = isSame ? this.#fields[index] : this.#fieldOf.get(name);
    // The name is stored even if it is equal: the next record may have the same string object, and comparing that
    // object with itself takes no time.
    if (index < REMEMBERED_MAX) this.#names[index] = name;
    if (index < REMEMBERED_MAX && !isSame) this.#fields[index] = field ?? ABSENT;
    return field ?? ABSENT;
  }

  /** Returns true if the header is missing or empty. */
  isEmpty(field: number): boolean {
    return this.#length(field) <= 0;
  }

  /** The byte at index `at` of a field that has this length; -1 if the field has another length or is absent. */
  byteOf(field: number, length: number, at: number): number {
    if (this.#length(field) !== length) return -1;
    return this.#bytesOf(field)[(this.#starts[field] ?? 0) + at] ?? -1;
  }

  /** Returns null if the header is absent, as do the other methods. */
  text(field: number): string | null {
    const start = this.#starts[field] ?? ABSENT;
    if (start < 0) return null;
    return this.#bytesOf(field).toString("utf8", start, this.#ends[field]);
  }

  /**
   * Returns the same as `text`, but reuses the last string if the value is the same. For fields with few different
   * values.
   */
  fewTexts(field: number): string | null {
    const known = this.#texts[field] ?? "";
    if (this.#length(field) === known.length && this.#is(field, known)) return known;
    const made = this.text(field);
    this.#texts[field] = made ?? "";
    return made;
  }

  /** Returns NaN if the field is not an integer. Negative integers are times before 1970. */
  whole(field: number): number | null {
    const start = this.#starts[field] ?? ABSENT;
    if (start < 0) return null;
    const bytes = this.#bytesOf(field);
    const end = this.#ends[field] ?? ABSENT;
    const isNegative = start < end && bytes[start] === MINUS;
    const from = isNegative ? start + 1 : start;
    if (end - from < 1 || end - from > DIGITS_MAX) return Number.NaN;
    let number = 0;
    for (let at = from; at < end; at += 1) {
      const digit = (bytes[at] ?? 0) - DIGIT_0;
      if (digit < 0 || digit > 9) return Number.NaN;
      number = number * 10 + digit;
    }
    return isNegative ? -number : number;
  }

  #bytesOf(field: number): Buffer {
    return this.#others[field] ?? this.#bytes;
  }

  #length(field: number): number {
    const start = this.#starts[field] ?? ABSENT;
    return start < 0 ? ABSENT : (this.#ends[field] ?? ABSENT) - start;
  }

  /**
   * Returns true if the field equals this string. The caller has checked that the lengths are equal. Returns false
   * for non-ASCII strings.
   */
  #is(field: number, text: string): boolean {
    const bytes = this.#bytesOf(field);
    const start = this.#starts[field] ?? ABSENT;
    for (let at = 0; at < text.length; at += 1) {
      const byte = bytes[start + at] ?? 0;
      if (byte > 0x7f || byte !== text.charCodeAt(at)) return false;
    }
    return true;
  }
}

const NO_BYTES = Buffer.alloc(0);
