/**
 * Reduces an Avro schema to the parts that are needed for reading values. Only these parts are passed to avsc, because
 * avsc generates code from the names of types and fields.
 *
 *   in the original schema                   in the reduced schema
 *   names of types                           numbered, because the bytes do not depend on them, and producers
 *                                            use names such as `a-b` or `Outer$`
 *   names of fields and symbols              numbered if they are not identifiers; `nameOf` returns them
 *   the same type, defined twice             counts once, because two references may define it
 *   the same name for another type           refers everywhere to the definition in the first reference that has
 *                                            one, as in Confluent's serializers for Java; those for Python use the
 *                                            last. The schema itself may replace it; within one schema, it is rejected
 *   default, doc, aliases, order, others     dropped, because a value has every field of the schema that it was
 *                                            written with
 *   a logical type that is known and valid   kept
 *   any other logical type                   dropped, as Avro specifies: the underlying type is used
 *   the size of a fixed                      at most 1 MiB
 *
 *   limit for a schema with its references
 *   size                                     256 KiB
 *   references                               100
 *   records                                  200
 *   fields and symbols                       3,000
 *   positions that have a type               10,000
 *   levels                                   64
 */

export interface SchemaText {
  readonly text: string;
}

export interface ReadSchemas {
  /** One schema for each text. */
  readonly schemas: readonly AvroSchema[];
  /** Full names of types that the texts define in different ways. */
  readonly ambiguous: ReadonlySet<string>;
}

export type AvroSchema = string | AvroObject | readonly AvroSchema[];

/** A schema as an object. Its `type` decides which of these fields it has. */
export interface AvroObject {
  readonly type: string;
  readonly name?: string;
  readonly fields?: readonly { readonly name: string; readonly type: AvroSchema }[];
  readonly symbols?: readonly string[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
  readonly size?: number;
  readonly logicalType?: string;
  /** Digits after a decimal's point. */
  readonly scale?: number;
}

/** Thrown if a schema cannot be used. The message is one sentence. */
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
/** No double has as many digits as this. */
const SCALE_MAX = 1_000;

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Prefix of the new names of fields and symbols that avsc would not accept. No other names have this prefix. */
const HEX_NAME = "__hex_";
const PRIMITIVES: ReadonlySet<string> = new Set([
  ...["null", "boolean", "int", "long", "float", "double", "bytes", "string"],
]);
/** The underlying types of each logical type. */
const LOGICAL_TYPES: Readonly<Record<string, ReadonlySet<unknown>>> = {
  int: new Set(["date", "time-millis"]),
  long: new Set([
    "time-micros",
    ...["timestamp-millis", "timestamp-micros", "timestamp-nanos"],
    ...["local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"],
  ]),
};

/**
 * @param texts the schemas to which the schema refers, followed by the schema itself. Throws `UnusableSchemaError`.
 */
export function readSchemas(texts: readonly SchemaText[]): ReadSchemas {
  if (texts.length > REFERENCES_MAX + 1) invalid(`has over ${REFERENCES_MAX} references`);
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (characters > TEXT_MAX_CHARACTERS) invalid(`has over ${TEXT_MAX_CHARACTERS} characters`);
  const reader = new SchemaReader();
  const schemas = texts.map((each) => reader.text(parsed(each.text), each === texts.at(-1)));
  return { schemas, ambiguous: reader.ambiguous };
}

/** The name of a field or a symbol in its original schema. */
export function nameOf(name: string): string {
  return name.startsWith(HEX_NAME)
    ? Buffer.from(name.slice(HEX_NAME.length), "hex").toString()
    : name;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // This is the short form of a primitive type.
    return /^[\w.]+$/.test(text) ? text : invalid("is not JSON");
  }
}

interface KnownType {
  /** The name of the type in avsc. */
  readonly as: string;
  /** Null while the definition is being read. */
  definition: string | null;
}

class SchemaReader {
  #records = 0;
  #names = 0;
  #types = 0;
  readonly ambiguous = new Set<string>();
  #known = new Map<string, KnownType>();
  #isReference = false;
  #defined = new Set<string>();
  #numbers = 0;
  /** Namespace of the enclosing type. */
  #namespace = "";

  text(schema: unknown, isLast: boolean): AvroSchema {
    this.#defined = new Set();
    this.#namespace = "";
    this.#isReference = !isLast;
    return this.read(schema, 1);
  }

  read(schema: unknown, level: number): AvroSchema {
    if (level > LEVELS_MAX) return invalid(`nests more than ${LEVELS_MAX} levels deep`);
    this.#types += 1;
    if (this.#types > TYPES_MAX) invalid(`has over ${TYPES_MAX} types`);
    if (typeof schema === "string") return this.#reference(schema);
    if (Array.isArray(schema)) return schema.map((branch) => this.read(branch, level + 1));
    if (typeof schema !== "object" || schema === null)
      return invalid("has a type that is not valid");
    const given = schema as Readonly<Record<string, unknown>>;
    const { type } = given;
    if (typeof type !== "string") return this.read(type, level + 1);
    switch (type) {
      case "record":
      case "error":
        return this.#record(given, level);
      case "enum":
        return this.#define(given, () => ({ type, symbols: this.#symbols(given.symbols) }));
      case "fixed":
        return this.#define(given, () => fixed(given));
      case "array":
        return { type, items: this.read(given.items, level + 1) };
      case "map":
        return { type, values: this.read(given.values, level + 1) };
      default:
        return PRIMITIVES.has(type) ? { type, ...logical(type, given) } : this.#reference(type);
    }
  }

  /** Numbers a type. If an equal type is already known, that type is used instead. */
  #define(given: Readonly<Record<string, unknown>>, content: () => AvroObject): AvroSchema {
    const fullName = this.#fullName(given);
    const outer = this.#namespace;
    const before = this.#known.get(fullName);
    const knownBefore = this.#known;
    if (this.#defined.has(fullName)) return invalid("has a duplicate type name");
    this.#defined.add(fullName);
    this.#numbers += 1;
    const known: KnownType = { as: `T${this.#numbers}`, definition: null };
    this.#known = before === undefined ? knownBefore : new Map(knownBefore);
    this.#known.set(fullName, known);
    this.#namespace = fullName.slice(0, Math.max(0, fullName.lastIndexOf(".")));
    const read = content();
    this.#namespace = outer;
    // References to the type itself are replaced, so that equal types have equal definitions, whatever their numbers.
    known.definition = JSON.stringify(read).replaceAll(`"${known.as}"`, '""');
    if (before === undefined) return { ...read, name: known.as };
    const isEqual = before.definition === known.definition;
    if (!isEqual) this.ambiguous.add(fullName);
    if (!isEqual && !this.#isReference) return { ...read, name: known.as };
    // The types that are defined inside this one are not used either.
    this.#known = knownBefore;
    return before.as;
  }

  /** Resolves a name. A name without a period is in the enclosing namespace, or in none. */
  #reference(name: string): string {
    if (PRIMITIVES.has(name)) return name;
    const inside = this.#namespace === "" ? name : `${this.#namespace}.${name}`;
    const bare = name.startsWith(".") ? name.slice(1) : name;
    const known = name.includes(".")
      ? this.#known.get(bare)
      : (this.#known.get(inside) ?? this.#known.get(name));
    return known?.as ?? invalid("uses an undefined type name");
  }

  #fullName({ name, namespace }: Readonly<Record<string, unknown>>): string {
    if (typeof name !== "string" || name === "") return invalid("has a type without a name");
    if (name.length > NAME_MAX_CHARACTERS) return invalid("has a type with a very long name");
    if (PRIMITIVES.has(name)) return invalid("defines a type with the name of a primitive type");
    if (name.includes(".")) return name.startsWith(".") ? name.slice(1) : name;
    const around = namespace ?? this.#namespace;
    if (typeof around !== "string" || around.length > NAME_MAX_CHARACTERS) {
      return invalid("has a namespace that is not valid");
    }
    return around === "" ? name : `${around}.${name}`;
  }

  #record(given: Readonly<Record<string, unknown>>, level: number): AvroSchema {
    this.#records += 1;
    if (this.#records > RECORDS_MAX) invalid(`has over ${RECORDS_MAX} records`);
    const { fields } = given;
    if (!Array.isArray(fields)) return invalid("has a record without fields");
    return this.#define(given, () => ({ type: "record", fields: this.#fields(fields, level) }));
  }

  #fields(fields: readonly unknown[], level: number): NonNullable<AvroObject["fields"]> {
    return fields.map((field: unknown) => {
      this.#countName();
      if (typeof field !== "object" || field === null)
        return invalid("has a field that is not valid");
      const { name, type } = field as Readonly<Record<string, unknown>>;
      return { name: checkedName(name, "a field"), type: this.read(type, level + 1) };
    });
  }

  #symbols(symbols: unknown): readonly string[] {
    if (!Array.isArray(symbols)) return invalid("has an enum without symbols");
    return symbols.map((symbol: unknown) => {
      this.#countName();
      return checkedName(symbol, "a symbol");
    });
  }

  #countName(): void {
    this.#names += 1;
    if (this.#names > NAMES_MAX) invalid(`has over ${NAMES_MAX} fields and symbols`);
  }
}

function fixed(given: Readonly<Record<string, unknown>>): AvroObject {
  const { size } = given;
  if (typeof size !== "number" || !Number.isInteger(size) || size < 0 || size > FIXED_MAX_BYTES) {
    return invalid(`has a fixed type whose size is not an integer up to ${FIXED_MAX_BYTES}`);
  }
  const plain = { type: "fixed", size };
  const { logicalType } = given;
  const isKnown =
    (logicalType === "duration" && size === 12) || (logicalType === "uuid" && size === 16);
  return isKnown ? { ...plain, logicalType } : { ...plain, ...decimal(given) };
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

function checkedName(name: unknown, of: string): string {
  if (typeof name !== "string" || name === "" || name.length > NAME_MAX_CHARACTERS) {
    return invalid(
      `has ${of} whose name is not a string of 1 to ${NAME_MAX_CHARACTERS} characters`,
    );
  }
  if (IDENTIFIER.test(name) && !name.startsWith(HEX_NAME)) return name;
  return `${HEX_NAME}${Buffer.from(name).toString("hex")}`;
}

function invalid(what: string): never {
  throw new UnusableSchemaError(`the schema ${what}`);
}
