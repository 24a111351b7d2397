/**
 * Turns the types of a schema into functions that copy values of these types from Avro to JSON.
 *
 *   Avro                  JSON
 *   null, boolean         the same
 *   int, long             a number with all its digits
 *   float, double         a number; NaN and infinities are null
 *   string, enum          a string
 *   bytes, fixed          base64
 *   array, map, record    an array, an object, an object
 *   union                 the value, without the name of its branch
 *   logical types         `copy-logical.ts`
 *
 * In a record at the top level of a value, fields get the names of `namesAtTop`, even if the value is a union of
 * records.
 */

import avro, { type Type } from "avsc";
import {
  type Copy,
  copyDate,
  copyDecimal,
  copyDuration,
  copyTime,
  copyTimestamp,
  copyUuid,
} from "./copy-logical.ts";
import { pieceOf, UnreadableError } from "./json-output.ts";
import { LogicalType } from "./resolve-schema.ts";
import { nameOf } from "./schema-text.ts";
import type { Transcript } from "./transcript.ts";

/**
 * Fields of calls, audience syncs and deletion requests that Avro schemas usually have in snake_case. They are renamed
 * only at the top level of a value (docs/calls.md#avro).
 */
const CAMEL_CASE: ReadonlyMap<string, string> = new Map(
  [
    ...["messageId", "userId", "anonymousId", "groupId", "previousId"],
    ...["sentAt", "receivedAt", "originalTimestamp", "writeKey", "sourceId"],
    ...["audienceId", "audienceName", "syncId", "userIds", "traitName"],
    "sourceIds",
  ].map((name) => [name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`), name]),
);

/** The fields with a call's own times, which have milliseconds. */
const TIMES: ReadonlySet<string> = new Set([
  ...["timestamp", "originalTimestamp", "sentAt", "receivedAt"],
]);

/**
 * The names of a record's fields in the JSON. A field is not renamed if a field with its camelCase name also exists.
 */
function namesAtTop(fields: readonly string[]): readonly string[] {
  const present = new Set(fields);
  return fields.map((field) => {
    const renamed = CAMEL_CASE.get(field);
    return renamed === undefined || present.has(renamed) ? field : renamed;
  });
}

function isTimeOfCall(name: string): boolean {
  return TIMES.has(name);
}

const { types } = avro;

const COMMA = 0x2c;
const COLON = 0x3a;
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

const [NULL, TRUE, FALSE] = [pieceOf("null"), pieceOf("true"), pieceOf("false")];

/**
 * The position of a value in the call. The format of times depends on the position: a call's own times include
 * milliseconds.
 */
type ValuePosition = "top" | "time" | "inside";

export function copyOf(type: Type): Copy {
  return new Copies().at(type, "top");
}

class Copies {
  /** The copy functions of records below the top level. They are stored because a record may contain itself. */
  readonly #records = new Map<Type, Copy>();

  at(type: Type, place: ValuePosition): Copy {
    if (type instanceof LogicalType) return logical(type, place);
    if (type instanceof types.RecordType) {
      return place === "top" ? this.#record(type, "top") : this.#recordInside(type);
    }
    if (type instanceof types.WrappedUnionType) {
      return union(type.types.map((branch) => this.at(branch, place)));
    }
    if (type instanceof types.ArrayType) return list(this.at(type.itemsType, "inside"));
    if (type instanceof types.MapType) return map(this.at(type.valuesType, "inside"));
    if (type instanceof types.EnumType) return enumeration(type.symbols);
    if (type instanceof types.FixedType) {
      const { size } = type;
      return (transcript) => transcript.base64(size);
    }
    return primitive(type.typeName);
  }

  #recordInside(type: InstanceType<typeof types.RecordType>): Copy {
    const known = this.#records.get(type);
    if (known !== undefined) return known;
    let made: Copy | null = null;
    const copy: Copy = (transcript) => made?.(transcript);
    this.#records.set(type, copy);
    made = this.#record(type, "inside");
    this.#records.set(type, made);
    return made;
  }

  #record(type: InstanceType<typeof types.RecordType>, place: "top" | "inside"): Copy {
    const given = type.fields.map(({ name }) => nameOf(name));
    const names = place === "top" ? namesAtTop(given) : given;
    const fields = type.fields.map((field, index) => {
      const name = names[index] ?? "";
      const isTime = place === "top" && isTimeOfCall(name);
      const before = pieceOf(`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`);
      return { before, copy: this.at(field.type, isTime ? "time" : "inside") };
    });
    if (fields.length === 0) return (transcript) => transcript.ascii("{}");
    return (transcript) => {
      transcript.enter();
      for (const { before, copy } of fields) {
        transcript.piece(before);
        copy(transcript);
      }
      transcript.byte(OBJECT_END);
      transcript.leave();
    };
  }
}

function primitive(typeName: string): Copy {
  switch (typeName) {
    case "null":
      return (transcript) => transcript.piece(NULL);
    case "boolean":
      return (transcript) => transcript.piece(transcript.boolean() ? TRUE : FALSE);
    case "int":
    case "long":
      return (transcript) => transcript.number(transcript.long());
    case "float":
      return (transcript) => transcript.ascii(floating(shortestOfFloat(transcript.float())));
    case "double":
      return (transcript) => transcript.ascii(floating(transcript.double()));
    case "string":
      return (transcript) => transcript.text();
    case "bytes":
      return (transcript) => transcript.base64(transcript.length());
    default:
      throw new Error(`no copy for the type ${typeName}`);
  }
}

/** A float always preserves six digits, and nine digits always distinguish it from all other floats. */
const FLOAT_DIGITS = [6, 7, 8, 9] as const;
/** Smaller floats are less precise. */
const FLOAT_NORMAL_MIN = 2 ** -126;
const FEW_DIGITS = [1, 2, 3, 4, 5, ...FLOAT_DIGITS] as const;

/** Returns the number with the fewest digits that is parsed as the same float: 12.34, not 12.34000015258789. */
function shortestOfFloat(float: number): number {
  const isExact = Number.isInteger(float) && Math.abs(float) <= 2 ** 24;
  if (isExact || !Number.isFinite(float)) return float;
  for (const digits of Math.abs(float) < FLOAT_NORMAL_MIN ? FEW_DIGITS : FLOAT_DIGITS) {
    const shortest = Number(float.toPrecision(digits));
    if (Math.fround(shortest) === float) return shortest;
  }
  return float;
}

function floating(number: number): string {
  return Number.isFinite(number) ? `${number}` : "null";
}

function logical(type: LogicalType, place: ValuePosition): Copy {
  const { logicalType, scale, underlyingType } = type;
  switch (logicalType) {
    case "date":
      return copyDate;
    case "time-millis":
      return copyTime(1);
    case "time-micros":
      return copyTime(1_000);
    case "decimal":
      return underlyingType instanceof types.FixedType
        ? copyDecimal(scale, always(underlyingType.size))
        : copyDecimal(scale, (transcript) => transcript.length());
    case "uuid":
      return copyUuid;
    case "duration":
      return copyDuration;
    default: {
      const digits = logicalType.endsWith("-nanos") ? 6 : logicalType.endsWith("-micros") ? 3 : 0;
      return copyTimestamp(digits, place !== "time", !logicalType.startsWith("local-"));
    }
  }
}

function always(length: number): (transcript: Transcript) => number {
  return () => length;
}

function union(branches: readonly Copy[]): Copy {
  return (transcript) => {
    const branch = branches[Number(transcript.long())];
    if (branch === undefined) throw new UnreadableError("a union has no such branch");
    branch(transcript);
  };
}

function enumeration(symbols: readonly string[]): Copy {
  const pieces = symbols.map((symbol) => pieceOf(JSON.stringify(nameOf(symbol))));
  return (transcript) => {
    const piece = pieces[Number(transcript.long())];
    if (piece === undefined) throw new UnreadableError("an enum has no such symbol");
    transcript.piece(piece);
  };
}

function list(item: Copy): Copy {
  return (transcript) => {
    transcript.enter();
    transcript.byte(LIST);
    let isFirst = true;
    for (let items = transcript.blockItems(); items > 0; items = transcript.blockItems()) {
      for (let index = 0; index < items; index += 1) {
        if (!isFirst) transcript.byte(COMMA);
        isFirst = false;
        item(transcript);
      }
    }
    transcript.byte(LIST_END);
    transcript.leave();
  };
}

function map(value: Copy): Copy {
  return (transcript) => {
    transcript.enter();
    transcript.byte(OBJECT);
    let isFirst = true;
    for (let items = transcript.blockItems(); items > 0; items = transcript.blockItems()) {
      for (let index = 0; index < items; index += 1) {
        if (!isFirst) transcript.byte(COMMA);
        isFirst = false;
        transcript.text();
        transcript.byte(COLON);
        value(transcript);
      }
    }
    transcript.byte(OBJECT_END);
    transcript.leave();
  };
}
