/**
 * A JSON value whose parts can be read and replaced without parsing the rest. The parts that no rule names are
 * written as they were received: numbers keep their digits, and keys keep their order.
 *
 *   a value                                  is written
 *   without changes                          byte for byte
 *   an object with changes in it             each name once, as JSON.parse reads it: at its first position, with the value
 *                                            of its last occurrence
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
  nameAt,
  nextEntry,
  nextMember,
  skipSpace,
  startOf,
} from "../../domain/scan-json.ts";
import { endOfScalar } from "../../domain/scan-scalar.ts";
import { Pieces } from "./pieces.ts";

const QUOTE = '"';
const COMMA = Buffer.from(",");
const OPEN = Buffer.from("{");

export class JsonValue {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** The index at which the value's name starts; -1 if the value is not a member of an object. */
  readonly #nameStart: number;
  /** The value from which this one was copied. It holds the result of parsing for all copies. */
  readonly #origin: JsonValue;
  /** The members or entries in the bytes; null until they are needed, and always null in a copy. */
  #parsed: Opened | null = null;
  /** The same object without repeated names; null until it is needed, and always null in a copy. */
  #unique: JsonValue | null = null;
  /**
   * Members in the bytes that were changed, or that were read and may have been changed since. A deleted member is
   * null.
   */
  #edited: Map<string, JsonValue | null> | null = null;
  /** Members that were added because they are not in the bytes, or because they were deleted before. */
  #added: Map<string, JsonValue> | null = null;
  /** Entries that may have been changed. */
  #entries: readonly JsonValue[] | null = null;
  #isChanged = false;

  private constructor(
    bytes: Buffer,
    start: number,
    end: number,
    nameStart = -1,
    origin: JsonValue | null = null,
  ) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#nameStart = nameStart;
    this.#origin = origin ?? this;
  }

  /** Returns a copy of the value as it was before any changes. A copy costs little until it is changed. */
  copy(): JsonValue {
    return this.#isScalar ? this : this.#copied();
  }

  #copied(): JsonValue {
    return new JsonValue(this.#bytes, this.#start, this.#end, this.#nameStart, this.#origin);
  }

  /** Reads a value from bytes. A byte-order mark at the start is skipped. */
  static read(bytes: Buffer): JsonValue {
    const start = startOf(bytes);
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

  /** The digits of a number, or `true` or `false`; null for any other value. */
  token(): string | null {
    const text = this.#isScalar && !this.isNull ? this.#raw() : QUOTE;
    return text.startsWith(QUOTE) ? null : text;
  }

  get(name: string): JsonValue | undefined {
    const edited = this.#added?.get(name) ?? this.#edited?.get(name);
    if (edited !== undefined) return edited ?? undefined;
    const member = this.#open().members?.get(name);
    if (member === undefined || member.#isScalar) return member;
    const copy = member.#copied();
    this.#edited ??= new Map();
    this.#edited.set(name, copy);
    return copy;
  }

  names(): readonly string[] {
    const inBytes = [...(this.#open().members?.keys() ?? [])];
    const kept = inBytes.filter((name) => this.#edited?.get(name) !== null);
    return [...kept, ...(this.#added?.keys() ?? [])];
  }

  /**
   * Parses the whole value in one pass. Parsing one level at a time would scan the bytes of the lower levels again.
   *
   * @throws RangeError if the value is nested too deeply.
   */
  openAll(): void {
    const origin = this.#origin;
    if (origin.#isScalar || origin.#parsed !== null) return;
    origin.#parsed = opened(origin.#bytes, origin.#start, (at, nameStart) => {
      const value = JsonValue.#whole(origin.#bytes, at, nameStart);
      return { value, end: value.#end };
    });
  }

  static #whole(bytes: Buffer, at: number, nameStart: number): JsonValue {
    const isObject = beginsWith(bytes, "object", at);
    if (!isObject && !beginsWith(bytes, "list", at)) {
      return new JsonValue(bytes, at, endOfScalar(bytes, at), nameStart);
    }
    const all = opened(bytes, at, (inner, ofName) => {
      const value = JsonValue.#whole(bytes, inner, ofName);
      return { value, end: value.#end };
    });
    const value = new JsonValue(bytes, at, all.end, nameStart);
    value.#parsed = all;
    return value;
  }

  /** The entries of a list; empty for any other value. */
  entries(): readonly JsonValue[] {
    if (!this.isList) return NOTHING;
    this.#entries ??= (this.#open().entries ?? NOTHING).map((entry) => entry.copy());
    return this.#entries;
  }

  /** Call if a rule names this member, or a value inside it. */
  touch(name: string): void {
    if (this.#open().repeats?.has(name) === true) this.#isChanged = true;
  }

  set(name: string, value: JsonValue): void {
    if (!this.isObject) return;
    const isInPlace = this.#open().members?.has(name) && this.#edited?.get(name) !== null;
    if (isInPlace) {
      this.#edited ??= new Map();
      this.#edited.set(name, value);
    } else {
      this.#added ??= new Map();
      this.#added.set(name, value);
    }
    this.#isChanged = true;
  }

  delete(name: string): boolean {
    let isDeleted = this.#added?.delete(name) === true;
    if (this.#open().members?.has(name) && this.#edited?.get(name) !== null) {
      this.#edited ??= new Map();
      this.#edited.set(name, null);
      isDeleted = true;
    }
    if (isDeleted) this.#isChanged = true;
    return isDeleted;
  }

  isChanged(): boolean {
    if (this.#isChanged) return true;
    if (this.#edited !== null) {
      for (const member of this.#edited.values()) if (member?.isChanged()) return true;
    }
    return this.#entries?.some((entry) => entry.isChanged()) ?? false;
  }

  /** The value's JSON, written according to the table above. */
  text(): string {
    return this.isChanged() ? this.toBytes().toString() : this.#raw();
  }

  /** The value's JSON in UTF-8. */
  toBytes(): Buffer {
    const pieces = new Pieces();
    this.#write(pieces);
    return pieces.joined();
  }

  #write(pieces: Pieces): void {
    const [bytes, start, end] = [this.#bytes, this.#start, this.#end];
    if (!this.isChanged()) {
      pieces.add(bytes, start, end);
      return;
    }
    pieces.add(bytes, start, start + 1);
    if (this.isList) {
      for (const [index, entry] of this.entries().entries()) {
        if (index > 0) pieces.add(COMMA, 0, 1);
        entry.#write(pieces);
      }
    } else {
      this.#writeMembers(pieces);
    }
    pieces.add(bytes, end - 1, end);
  }

  /**
   * Everything between two changed members is written as one range of bytes, so that a change costs as much as it
   * changes, however many members the object has: each destination may have its own changes.
   */
  #writeMembers(pieces: Pieces): void {
    const { members, repeats } = this.#open();
    if (repeats !== null) {
      this.#withoutRepeats().#writeMembers(pieces);
      return;
    }
    const bytes = this.#bytes;
    // Until a member is written, `from` is the start of a name; from then on, it is the end of a value.
    let from = skipSpace(bytes, this.#start + 1);
    let isFirst = true;
    for (const [member, value] of this.#changes(members)) {
      if (member.#nameStart > from) isFirst = false;
      if (value !== null) {
        pieces.add(bytes, from, member.#start);
        value.#write(pieces);
        isFirst = false;
        from = member.#end;
      } else if (isFirst) {
        from = skipSpace(bytes, member.#end);
        if (bytes[from] === COMMA[0]) from = skipSpace(bytes, from + 1);
      } else {
        pieces.add(bytes, from, bytes.lastIndexOf(COMMA, member.#nameStart));
        from = member.#end;
      }
    }
    pieces.add(bytes, from, this.#end - 1);
    if (from < this.#end - 1) isFirst = false;
    for (const [name, value] of this.#added ?? []) {
      if (!isFirst) pieces.add(COMMA, 0, 1);
      isFirst = false;
      pieces.addName(name);
      value.#write(pieces);
    }
  }

  /** The members in the bytes that were replaced or deleted, in the order of the bytes. A deleted member's value is null. */
  #changes(members: Opened["members"]): (readonly [JsonValue, JsonValue | null])[] {
    const changes: (readonly [JsonValue, JsonValue | null])[] = [];
    for (const [name, value] of this.#edited ?? []) {
      const member = members?.get(name);
      if (member !== undefined) changes.push([member, value]);
    }
    return changes.sort(([one], [other]) => one.#nameStart - other.#nameStart);
  }

  /** The same object with the same changes, in bytes that have each name once. All copies share these bytes. */
  #withoutRepeats(): JsonValue {
    const origin = this.#origin;
    if (origin.#unique === null) {
      const pieces = new Pieces();
      for (const [name, member] of origin.#open().members ?? []) {
        pieces.add(pieces.isEmpty ? OPEN : COMMA, 0, 1);
        pieces.addName(name);
        pieces.add(origin.#bytes, member.#start, member.#end);
      }
      pieces.add(origin.#bytes, origin.#end - 1, origin.#end);
      origin.#unique = JsonValue.read(pieces.joined());
    }
    const same = origin.#unique.#copied();
    same.#edited = this.#edited;
    same.#added = this.#added;
    return same;
  }

  /** The value's JSON without spaces and without unnecessary escapes. Numbers keep their digits. */
  compact(): string {
    if (this.#isScalar) {
      const string = this.string();
      return string === null ? this.#raw() : JSON.stringify(string);
    }
    this.openAll();
    if (this.isList)
      return `[${this.entries()
        .map((entry) => entry.compact())
        .join(",")}]`;
    const members = this.names().map(
      (name) => `${JSON.stringify(name)}:${this.get(name)?.compact()}`,
    );
    return `{${members.join(",")}}`;
  }

  get #isScalar(): boolean {
    return !this.isObject && !this.isList;
  }

  #raw(): string {
    return this.#bytes.toString("utf8", this.#start, this.#end);
  }

  /** Parses one level, unless it has already been parsed. The values on that level are not parsed. */
  #open(): Opened {
    const origin = this.#origin;
    if (origin.#parsed !== null) return origin.#parsed;
    if (origin.#isScalar) return EMPTY;
    const bytes = origin.#bytes;
    origin.#parsed = opened(bytes, origin.#start, (at, nameStart) => {
      const end = endOfValue(bytes, at);
      return { value: new JsonValue(bytes, at, end, nameStart), end };
    });
    return origin.#parsed;
  }
}

interface Opened {
  /** The members of an object; null if it is a list. */
  readonly members: Map<string, JsonValue> | null;
  readonly entries: JsonValue[] | null;
  readonly repeats: Set<string> | null;
  readonly end: number;
}

/**
 * Parses the object or list at `start`.
 * @param valueAt returns the value at an index, and the index at which that value ends.
 */
function opened(
  bytes: Buffer,
  start: number,
  valueAt: (at: number, nameStart: number) => { readonly value: JsonValue; readonly end: number },
): Opened {
  if (beginsWith(bytes, "list", start)) {
    const entries: JsonValue[] = [];
    let at = firstEntry(bytes, start);
    while (at >= 0) {
      const { value, end } = valueAt(at, -1);
      entries.push(value);
      at = nextEntry(bytes, end);
    }
    return { members: null, entries, repeats: null, end: endOf(at) };
  }
  const members = new Map<string, JsonValue>();
  let repeats: Set<string> | null = null;
  const found = { nameEnd: 0, at: 0 };
  let at = firstMember(bytes, start, found);
  while (at >= 0) {
    const name = nameAt(bytes, at, found.nameEnd);
    const { value, end } = valueAt(found.at, at);
    if (members.has(name)) {
      repeats ??= new Set();
      repeats.add(name);
    }
    members.set(name, value);
    at = nextMember(bytes, end, found);
  }
  return { members, entries: null, repeats, end: endOf(at) };
}

const NOTHING: readonly JsonValue[] = [];
const EMPTY: Opened = { members: null, entries: null, repeats: null, end: -1 };
