/**
 * A JSON value whose parts can be read and replaced without parsing the rest. What no rule names is written as it was received,
 * with the digits of its numbers and the order of its keys.
 *
 *   a value                                  is written
 *   without changes                          byte for byte
 *   an object with changes in it             each name once, as JSON.parse reads it: where it came first, with the value
 *                                            that came last
 *   an object with a duplicate name, if a    the same, because an earlier value of that name may be what the rule removes
 *     rule names it
 *
 * The bytes must be valid JSON in UTF-8.
 */

import {
  beginsWith,
  endOf,
  endOfValue,
  firstEntry,
  firstMember,
  nextEntry,
  nextMember,
  skipSpace,
} from "../../domain/scan-json.ts";
import { endOfScalar } from "../../domain/scan-scalar.ts";

const QUOTE = '"';
const COMMA = Buffer.from(",");
/** The opening and closing bytes of objects and lists. */
const OBJECT = [Buffer.from("{"), Buffer.from("}")] as const;
const LIST = [Buffer.from("["), Buffer.from("]")] as const;

export class JsonValue {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** Index of the byte where its name starts, and its position among the members in the bytes; -1 if it is not one of them. */
  readonly #nameStart: number;
  readonly #place: number;
  /** The value that it is a copy of, whose parts are not parsed again. */
  readonly #origin: JsonValue | null;
  #members: Map<string, JsonValue> | null = null;
  #entries: JsonValue[] | null = null;
  /** Names that occur more than once. */
  #repeats: Set<string> | null = null;
  #isChanged = false;

  private constructor(
    bytes: Buffer,
    start: number,
    end: number,
    { nameStart, place }: MemberPlace = NO_MEMBER,
    origin: JsonValue | null = null,
  ) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#nameStart = nameStart;
    this.#place = place;
    this.#origin = origin;
  }

  /** Returns a copy that can be changed. The value itself must not be changed, because its copies share what it has parsed. */
  copy(): JsonValue {
    const place = { nameStart: this.#nameStart, place: this.#place };
    return new JsonValue(this.#bytes, this.#start, this.#end, place, this);
  }

  /** A byte-order mark at the start is skipped. */
  static read(bytes: Buffer): JsonValue {
    const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    const start = skipSpace(bytes, isMarked ? 3 : 0);
    let end = bytes.length;
    while (end > start && skipSpace(bytes, end - 1) === bytes.length) end -= 1;
    return new JsonValue(bytes, start, end);
  }

  /** @param text valid JSON. */
  static of(text: string): JsonValue {
    return JsonValue.read(Buffer.from(text));
  }

  get isObject(): boolean {
    return beginsWith(this.#bytes, "object", this.#start);
  }

  get isList(): boolean {
    return beginsWith(this.#bytes, "list", this.#start);
  }

  get isNull(): boolean {
    return this.#bytes[this.#start] === 0x6e;
  }

  /** The string; null if the value is not a string. */
  string(): string | null {
    const text = this.#isScalar ? this.#raw() : "";
    if (!text.startsWith(QUOTE)) return null;
    return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1);
  }

  /** The digits of a number, or `true` or `false`; null if it is something else. */
  token(): string | null {
    const text = this.#isScalar && !this.isNull ? this.#raw() : QUOTE;
    return text.startsWith(QUOTE) ? null : text;
  }

  get(name: string): JsonValue | undefined {
    return this.#open()?.get(name);
  }

  names(): readonly string[] {
    return [...(this.#open()?.keys() ?? [])];
  }

  /**
   * Parses everything in it in one pass. Parsing one level at a time would scan the bytes of the lower levels again.
   *
   * @throws RangeError if it is nested too deeply.
   */
  openAll(): void {
    if (this.#isScalar || this.#members !== null || this.#entries !== null) return;
    if (this.#origin !== null) {
      this.#origin.openAll();
      this.#openLevel();
      return;
    }
    const { members, entries, repeats } = opened(this.#bytes, this.#start, (at, member) => {
      const value = JsonValue.#whole(this.#bytes, at, member);
      return { value, end: value.#end };
    });
    this.#members = members;
    this.#entries = entries;
    this.#repeats = repeats;
  }

  static #whole(bytes: Buffer, at: number, member: MemberPlace): JsonValue {
    const isObject = beginsWith(bytes, "object", at);
    if (!isObject && !beginsWith(bytes, "list", at)) {
      return new JsonValue(bytes, at, endOfScalar(bytes, at), member);
    }
    const all = opened(bytes, at, (inner, place) => {
      const value = JsonValue.#whole(bytes, inner, place);
      return { value, end: value.#end };
    });
    const value = new JsonValue(bytes, at, all.end, member);
    value.#members = all.members;
    value.#entries = all.entries;
    value.#repeats = all.repeats;
    return value;
  }

  /** The entries of a list; empty for any other value. */
  entries(): readonly JsonValue[] {
    if (!this.isList) return [];
    if (this.#entries === null) this.#openLevel();
    return this.#entries ?? [];
  }

  /** Call if a rule names this member, or something in it. */
  touch(name: string): void {
    this.#open();
    if (this.#repeats?.has(name) === true) this.#isChanged = true;
  }

  set(name: string, value: JsonValue): void {
    this.#open()?.set(name, value);
    this.#isChanged = true;
  }

  delete(name: string): boolean {
    const isDeleted = this.#open()?.delete(name) === true;
    if (isDeleted) this.#isChanged = true;
    return isDeleted;
  }

  isChanged(): boolean {
    if (this.#isChanged) return true;
    for (const member of this.#members?.values() ?? []) if (member.isChanged()) return true;
    return this.#entries?.some((entry) => entry.isChanged()) ?? false;
  }

  /** Its JSON; see the table. */
  text(): string {
    return this.isChanged() ? this.toBytes().toString() : this.#raw();
  }

  /** The same in UTF-8. */
  toBytes(): Buffer {
    const parts: Buffer[] = [];
    this.#write(parts);
    return Buffer.concat(parts);
  }

  #write(parts: Buffer[]): void {
    if (!this.isChanged()) {
      parts.push(this.#bytes.subarray(this.#start, this.#end));
    } else if (this.#entries !== null) {
      parts.push(LIST[0]);
      for (const [index, entry] of this.#entries.entries()) {
        if (index > 0) parts.push(COMMA);
        entry.#write(parts);
      }
      parts.push(LIST[1]);
    } else {
      parts.push(OBJECT[0]);
      this.#writeMembers(parts);
      parts.push(OBJECT[1]);
    }
  }

  /** Unchanged members that follow each other in the bytes are copied together. */
  #writeMembers(parts: Buffer[]): void {
    let from = -1;
    let last: JsonValue | null = null;
    const flush = () => {
      if (last !== null) parts.push(this.#bytes.subarray(from, last.#end));
      last = null;
    };
    let isFirst = true;
    for (const [name, value] of this.#open() ?? []) {
      const isKept = value.#nameStart >= 0 && this.#repeats === null && !value.isChanged();
      const before: JsonValue | null = last;
      if (isKept && before !== null && value.#place === before.#place + 1) {
        last = value;
        continue;
      }
      flush();
      if (!isFirst) parts.push(COMMA);
      isFirst = false;
      if (isKept) {
        from = value.#nameStart;
        last = value;
        continue;
      }
      parts.push(Buffer.from(`${JSON.stringify(name)}:`));
      value.#write(parts);
    }
    flush();
  }

  /** Its JSON without spaces and needless escapes; numbers keep their digits. */
  compact(): string {
    if (!this.#isScalar) {
      this.openAll();
      return this.#written((value) => value.compact());
    }
    const string = this.string();
    return string === null ? this.#raw() : JSON.stringify(string);
  }

  get #isScalar(): boolean {
    return !this.isObject && !this.isList;
  }

  #raw(): string {
    return this.#bytes.toString("utf8", this.#start, this.#end);
  }

  #written(textOf: (value: JsonValue) => string): string {
    if (this.#entries !== null) return `[${this.#entries.map(textOf).join(",")}]`;
    let text = "";
    for (const [name, value] of this.#open() ?? []) {
      text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${textOf(value)}`;
    }
    return `{${text}}`;
  }

  #open(): Map<string, JsonValue> | null {
    if (this.#members === null && this.isObject) this.#openLevel();
    return this.#members;
  }

  /** Parses one level; the values in it are not parsed. */
  #openLevel(): void {
    const bytes = this.#bytes;
    if (this.#origin !== null) {
      this.#copyLevel(this.#origin);
      return;
    }
    const { members, entries, repeats } = opened(bytes, this.#start, (at, member) => {
      const end = endOfValue(bytes, at, NESTING);
      return { value: new JsonValue(bytes, at, end, member), end };
    });
    this.#members = members;
    this.#entries = entries;
    this.#repeats = repeats;
  }

  #copyLevel(origin: JsonValue): void {
    if (origin.#members === null && origin.#entries === null) origin.#openLevel();
    this.#entries = origin.#entries?.map((entry) => entry.copy()) ?? null;
    this.#repeats = origin.#repeats;
    if (origin.#members === null) return;
    this.#members = new Map();
    for (const [name, value] of origin.#members) this.#members.set(name, value.copy());
  }
}

interface MemberPlace {
  readonly nameStart: number;
  readonly place: number;
}

const NO_MEMBER: MemberPlace = { nameStart: -1, place: -1 };

interface Opened {
  /** The members of an object; null if it is a list. */
  readonly members: Map<string, JsonValue> | null;
  readonly entries: JsonValue[] | null;
  readonly repeats: Set<string> | null;
  readonly end: number;
}

/** Parses the object or list at `start`. @param valueAt returns a value in it, and where the value ends. */
function opened(
  bytes: Buffer,
  start: number,
  valueAt: (at: number, member: MemberPlace) => { readonly value: JsonValue; readonly end: number },
): Opened {
  if (beginsWith(bytes, "list", start)) {
    const entries: JsonValue[] = [];
    let at = firstEntry(bytes, start);
    while (at >= 0) {
      const { value, end } = valueAt(at, NO_MEMBER);
      entries.push(value);
      at = nextEntry(bytes, end);
    }
    return { members: null, entries, repeats: null, end: endOf(at) };
  }
  const members = new Map<string, JsonValue>();
  let repeats: Set<string> | null = null;
  const found = { nameEnd: 0, at: 0 };
  let at = firstMember(bytes, start, found);
  for (let place = 0; at >= 0; place += 1) {
    const name = nameIn(bytes, at, found.nameEnd);
    const { value, end } = valueAt(found.at, { nameStart: at, place });
    if (members.has(name)) {
      repeats ??= new Set();
      repeats.add(name);
    }
    members.set(name, value);
    at = nextMember(bytes, end, found);
  }
  return { members, entries: null, repeats, end: endOf(at) };
}

/** The scanner counts levels, which are not used here. */
const NESTING = { deepest: 0 };

function nameIn(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString("utf8", start + 1, end - 1);
  return name.includes("\\") ? (JSON.parse(`"${name}"`) as string) : name;
}
