/**
 * A value of JSON whose parts can be read and replaced without making anything of the rest: what no rule names is
 * written as it came, with the digits of its numbers and the order of its keys.
 *
 *   a value                                 is written
 *   nobody opened it, or nothing changed    as it came, byte for byte
 *   an object, and something in it changed  each name once, as in JSON.parse: where it came first, with the value
 *                                           that came last
 *   an object in which a rule names a       the same: a value that does not count may be what the rule takes away
 *     name that repeats
 *
 * The bytes must be JSON in UTF-8.
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

export class JsonValue {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  #members: Map<string, JsonValue> | null = null;
  #entries: JsonValue[] | null = null;
  /** Names that came more than once. */
  #repeats: Set<string> | null = null;
  #isChanged = false;

  private constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  /** A byte-order mark before it is passed over. */
  static read(bytes: Buffer): JsonValue {
    const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    const start = skipSpace(bytes, isMarked ? 3 : 0);
    let end = bytes.length;
    while (end > start && skipSpace(bytes, end - 1) === bytes.length) end -= 1;
    return new JsonValue(bytes, start, end);
  }

  /** @param text of JSON. */
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

  /** What the value is as a text; null: it is not a text. */
  string(): string | null {
    const text = this.#isScalar ? this.#raw() : "";
    if (!text.startsWith(QUOTE)) return null;
    return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1);
  }

  /** The digits of a number, or `true` or `false`; null: it is something else. */
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
   * Opens everything in it, in one pass over its bytes: level by level, each level would pass over all below it.
   *
   * @throws RangeError when it nests too deeply.
   */
  openAll(): void {
    if (this.#isScalar || this.#members !== null || this.#entries !== null) return;
    const { members, entries, repeats } = opened(this.#bytes, this.#start, (at) => {
      const value = JsonValue.#whole(this.#bytes, at);
      return { value, end: value.#end };
    });
    this.#members = members;
    this.#entries = entries;
    this.#repeats = repeats;
  }

  static #whole(bytes: Buffer, at: number): JsonValue {
    const isObject = beginsWith(bytes, "object", at);
    if (!isObject && !beginsWith(bytes, "list", at)) {
      return new JsonValue(bytes, at, endOfScalar(bytes, at));
    }
    const all = opened(bytes, at, (inner) => {
      const value = JsonValue.#whole(bytes, inner);
      return { value, end: value.#end };
    });
    const value = new JsonValue(bytes, at, all.end);
    value.#members = all.members;
    value.#entries = all.entries;
    value.#repeats = all.repeats;
    return value;
  }

  /** Of a list; none of anything else. */
  entries(): readonly JsonValue[] {
    if (!this.isList) return [];
    if (this.#entries === null) this.#openLevel();
    return this.#entries ?? [];
  }

  /** A rule names this member, or something in it. */
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
    if (!this.isChanged()) return this.#raw();
    return this.#written((value) => value.text());
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

  /** What is in it stays closed. */
  #openLevel(): void {
    const bytes = this.#bytes;
    const { members, entries, repeats } = opened(bytes, this.#start, (at) => {
      const end = endOfValue(bytes, at, NESTING);
      return { value: new JsonValue(bytes, at, end), end };
    });
    this.#members = members;
    this.#entries = entries;
    this.#repeats = repeats;
  }
}

interface Opened {
  /** Of an object; null: it is a list. */
  readonly members: Map<string, JsonValue> | null;
  readonly entries: JsonValue[] | null;
  readonly repeats: Set<string> | null;
  readonly end: number;
}

/** The object or list at `start`. @param valueAt reads a value in it, and where that ends. */
function opened(
  bytes: Buffer,
  start: number,
  valueAt: (at: number) => { readonly value: JsonValue; readonly end: number },
): Opened {
  if (beginsWith(bytes, "list", start)) {
    const entries: JsonValue[] = [];
    let at = firstEntry(bytes, start);
    while (at >= 0) {
      const { value, end } = valueAt(at);
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
    const name = nameIn(bytes, at, found.nameEnd);
    const { value, end } = valueAt(found.at);
    if (members.has(name)) {
      repeats ??= new Set();
      repeats.add(name);
    }
    members.set(name, value);
    at = nextMember(bytes, end, found);
  }
  return { members, entries: null, repeats, end: endOf(at) };
}

/** The scanner counts levels; nobody reads them here. */
const NESTING = { deepest: 0 };

function nameIn(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString("utf8", start + 1, end - 1);
  return name.includes("\\") ? (JSON.parse(`"${name}"`) as string) : name;
}
