/**
 * Turns schemas into avsc's types, in which names are resolved. `copies.ts` reads values, because avsc's own readers
 * trust the counts in a value, and reject a whole value because of a single large long.
 */

import avro, { type Type } from "avsc";

import { type AvroObject, type AvroSchema, UnusableSchemaError } from "./schema-text.ts";

/** A logical type whose schema has passed `schema-text.ts`. */
export class LogicalType extends avro.types.LogicalType {
  readonly logicalType: string;
  readonly scale: number;

  constructor(schema: AvroObject, options: unknown) {
    super(schema as ConstructorParameters<typeof avro.types.LogicalType>[0], options);
    this.logicalType = schema.logicalType ?? "";
    this.scale = schema.scale ?? 0;
  }
}

const LOGICAL_TYPE_NAMES = [
  ...["date", "time-millis", "time-micros", "decimal", "uuid", "duration"],
  ...["timestamp-millis", "timestamp-micros", "timestamp-nanos"],
  ...["local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos"],
];

/** Returns the type of the last schema, which may refer to the schemas before it. Throws `UnusableSchemaError`. */
export function typeOf(schemas: readonly AvroSchema[]): Type {
  // The object has no prototype, so that only defined names are found.
  const registry: { [name: string]: Type } = Object.create(null) as Record<string, Type>;
  const logicalTypes = Object.fromEntries(LOGICAL_TYPE_NAMES.map((name) => [name, LogicalType]));
  let type: Type | null = null;
  for (const schema of schemas) type = resolve(schema, { registry, logicalTypes });
  if (type === null) throw new UnusableSchemaError("the schema is empty");
  return type;
}

type Options = NonNullable<Parameters<typeof Type.forSchema>[1]>;

function resolve(schema: AvroSchema, options: unknown): Type {
  try {
    return avro.Type.forSchema(schema as Parameters<typeof Type.forSchema>[0], {
      ...(options as Options),
      wrapUnions: "always",
      omitRecordMethods: true,
      assertLogicalTypes: true,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new UnusableSchemaError(`the schema is not a valid Avro schema: ${reason.slice(0, 200)}`);
  }
}
