/**
 * The text of an Avro schema, to what is needed of it for reading values. Only this goes on to avsc,
 * which makes code of the names of types and fields.
 *
 *   of a schema                              here
 *   names of types, fields, symbols          letters, digits and _, else it is refused; namespaces too
 *   names that every object has              refused for types: avsc looks names up in objects
 *     (`constructor`)
 *   default, doc, aliases, order, others     left out: a value has every field of the schema that it
 *                                            was written with
 *   a logical type that is known and fits    kept
 *   any other logical type                   left out, as Avro says: the type below it counts
 *   the size of a fixed                      at most 1 MiB
 *
 *   bound on a schema with its references    is
 *   text                                     256 KiB
 *   references                               100
 *   records                                  200
 *   fields and symbols                       3,000
 *   places that have a type                  10,000
 *   levels                                   64
 */

export type AvroSchema = string | AvroObject | readonly AvroSchema[];

/** By `type`, it has some of these. */
export interface AvroObject {
  readonly type: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly fields?: readonly { readonly name: string; readonly type: AvroSchema }[];
  readonly symbols?: readonly string[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
  readonly size?: number;
  readonly logicalType?: string;
  /** Digits after the point of a decimal. */
  readonly scale?: number;
}

/** The schema cannot be used. The message is one sentence. */
export class UnusableSchemaError extends Error {
  override readonly name = "UnusableSchemaError";
}

const TEXT_MAX_CHARACTERS = 256 * 1024;
const REFERENCES_MAX = 100;
const RECORDS_MAX = 200;
const NAMES_MAX = 3_000;
const TYPES_MAX = 10_000;
const LEVELS_MAX = 64;
const NAME_MAX_CHARACTERS = 512;
const FIXED_MAX_BYTES = 1024 * 1024;
/** More digits than any double has. */
const SCALE_MAX = 1_000;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FULL_NAME = /^\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const PRIMITIVES: ReadonlySet<string> = new Set([
  ...["null", "boolean", "int", "long", "float", "double", "bytes", "string"],
]);
/** By the type below them. */
const LOGICAL_TYPES: Readonly<Record<string, ReadonlySet<unknown>>> = {
  int: new Set(["date", "time-millis"]),
  long: new Set([
    "time-micros",
    ...["timestamp-millis", "timestamp-micros", "timestamp-nanos"],
    ...["local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"],
  ]),
};

/**
 * @param texts the schema's last, before it those that it refers to.
 * @returns one for each text. Throws `UnusableSchemaError`.
 */
export function readSchemas(texts: readonly string[]): readonly AvroSchema[] {
  if (texts.length > REFERENCES_MAX + 1) refuse(`has over ${REFERENCES_MAX} references`);
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  if (characters > TEXT_MAX_CHARACTERS) refuse(`has over ${TEXT_MAX_CHARACTERS} characters`);
  const reader = new SchemaReader();
  return texts.map((text) => reader.read(parsed(text), 1));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The short form of a primitive type.
    return FULL_NAME.test(text) ? text : refuse("is not JSON");
  }
}

class SchemaReader {
  #records = 0;
  #names = 0;
  #types = 0;

  read(schema: unknown, level: number): AvroSchema {
    if (level > LEVELS_MAX) return refuse(`nests more than ${LEVELS_MAX} levels deep`);
    this.#types += 1;
    if (this.#types > TYPES_MAX) refuse(`has over ${TYPES_MAX} types`);
    if (typeof schema === "string") return reference(schema);
    if (Array.isArray(schema)) return schema.map((branch) => this.read(branch, level + 1));
    if (typeof schema !== "object" || schema === null) return refuse("has a type that is none");
    const given = schema as Readonly<Record<string, unknown>>;
    const { type } = given;
    if (typeof type !== "string") return this.read(type, level + 1);
    switch (type) {
      case "record":
      case "error":
        return this.#record(given, level);
      case "enum":
        return { type, ...named(given), symbols: this.#symbols(given.symbols) };
      case "fixed":
        return fixed(given);
      case "array":
        return { type, items: this.read(given.items, level + 1) };
      case "map":
        return { type, values: this.read(given.values, level + 1) };
      default:
        return PRIMITIVES.has(type) ? { type, ...logical(type, given) } : reference(type);
    }
  }

  #record(given: Readonly<Record<string, unknown>>, level: number): AvroObject {
    this.#records += 1;
    if (this.#records > RECORDS_MAX) refuse(`has over ${RECORDS_MAX} records`);
    const { fields } = given;
    if (!Array.isArray(fields)) return refuse("has a record without fields");
    const read = fields.map((field: unknown) => {
      this.#countName();
      if (typeof field !== "object" || field === null) return refuse("has a field that is none");
      const { name, type } = field as Readonly<Record<string, unknown>>;
      return { name: checkedName(name, "a field"), type: this.read(type, level + 1) };
    });
    return { type: "record", ...named(given), fields: read };
  }

  #symbols(symbols: unknown): readonly string[] {
    if (!Array.isArray(symbols)) return refuse("has an enum without symbols");
    return symbols.map((symbol: unknown) => {
      this.#countName();
      return checkedName(symbol, "a symbol");
    });
  }

  #countName(): void {
    this.#names += 1;
    if (this.#names > NAMES_MAX) refuse(`has over ${NAMES_MAX} fields and symbols`);
  }
}

function fixed(given: Readonly<Record<string, unknown>>): AvroObject {
  const { size } = given;
  if (typeof size !== "number" || !Number.isInteger(size) || size < 0 || size > FIXED_MAX_BYTES) {
    return refuse(`has a fixed whose size is not a whole number up to ${FIXED_MAX_BYTES}`);
  }
  const named_ = { type: "fixed", ...named(given), size };
  const { logicalType } = given;
  const isKnown =
    (logicalType === "duration" && size === 12) || (logicalType === "uuid" && size === 16);
  return isKnown ? { ...named_, logicalType } : { ...named_, ...decimal(given) };
}

function logical(type: string, given: Readonly<Record<string, unknown>>): Partial<AvroObject> {
  const { logicalType } = given;
  if (type === "bytes") return decimal(given);
  const isKnown = typeof logicalType === "string" && LOGICAL_TYPES[type]?.has(logicalType) === true;
  return isKnown ? { logicalType } : {};
}

function decimal({
  logicalType,
  precision,
  scale = 0,
}: Readonly<Record<string, unknown>>): Partial<AvroObject> {
  const isDecimal =
    logicalType === "decimal" && isWhole(precision) && isWhole(scale) && scale <= precision;
  return isDecimal && scale <= SCALE_MAX ? { logicalType, scale } : {};
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function named(given: Readonly<Record<string, unknown>>): Pick<AvroObject, "name" | "namespace"> {
  const { name, namespace } = given;
  if (typeof name !== "string") return refuse("has a type without a name");
  const checked = reference(name);
  if (PRIMITIVES.has(checked)) return refuse("names a type like one of Avro's own");
  if (namespace === undefined || namespace === null) return { name: checked };
  if (namespace === "") return { name: checked, namespace };
  if (typeof namespace !== "string") return refuse("has a namespace that is none");
  return { name: checked, namespace: reference(namespace) };
}

/** A name, perhaps with its namespace. */
function reference(name: string): string {
  if (name.length > NAME_MAX_CHARACTERS || !FULL_NAME.test(name)) {
    return refuse("has a name with other characters than letters, digits and _");
  }
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (last in Object.prototype) return refuse("has a type with a name that every object has");
  return name;
}

function checkedName(name: unknown, of: string): string {
  if (typeof name === "string" && name.length <= NAME_MAX_CHARACTERS && NAME.test(name)) {
    return name;
  }
  return refuse(`has ${of} with a name of other characters than letters, digits and _`);
}

function refuse(what: string): never {
  throw new UnusableSchemaError(`the schema ${what}`);
}
