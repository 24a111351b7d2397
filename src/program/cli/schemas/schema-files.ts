/**
 * Reads the Avro schemas of a folder, and sorts them so that each schema comes after the schemas to which it refers.
 * They can be registered in this order. The subject of a schema is the schema's full name, because several types share
 * a topic.
 *
 *   a name in a schema that is                    means
 *   a primitive type                              that type
 *   defined earlier in the same schema            that type
 *   the schema of another file                    a reference to its subject
 *   anything else                                 a problem
 *
 * Other problems are a file that is not JSON, a schema that is not a named type, a name that two files define, and
 * schemas that use each other.
 */

export interface SchemaFile {
  readonly file: string;
  readonly text: string;
}

export interface NamedSchema {
  readonly file: string;
  /** Full name, such as `switchyard.Call`. */
  readonly name: string;
  /** JSON without white space. */
  readonly text: string;
  /** Full names of the schemas that this schema uses directly. */
  readonly uses: readonly string[];
}

export type OrderedSchemas =
  | { readonly kind: "schemas"; readonly schemas: readonly NamedSchema[] }
  /** One sentence per problem. */
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

const PRIMITIVE = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];
const NAMED = ["record", "error", "enum", "fixed"];

export function orderSchemas(files: readonly SchemaFile[]): OrderedSchemas {
  const problems: string[] = [];
  const byName = new Map<string, NamedSchema>();
  for (const { file, text } of files) {
    const schema = readSchema(file, text);
    if (typeof schema === "string") {
      problems.push(schema);
      continue;
    }
    const same = byName.get(schema.name);
    if (same !== undefined) problems.push(`${file} and ${same.file} both define ${schema.name}`);
    byName.set(schema.name, schema);
  }
  for (const { file, uses } of byName.values()) {
    const unknown = uses.filter((name) => !byName.has(name));
    for (const name of unknown) problems.push(`${file} uses ${name}, which no file defines`);
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  return inOrder(byName);
}

function inOrder(byName: ReadonlyMap<string, NamedSchema>): OrderedSchemas {
  const schemas: NamedSchema[] = [];
  const waiting = new Set(byName.values());
  while (waiting.size > 0) {
    const ready = [...waiting].filter(({ uses }) =>
      uses.every((name) => schemas.some((done) => done.name === name)),
    );
    if (ready.length === 0) {
      const files = [...waiting].map(({ file }) => file).join(", ");
      return { kind: "invalid", problems: [`these schemas use each other: ${files}`] };
    }
    for (const schema of ready) waiting.delete(schema);
    schemas.push(...ready);
  }
  return { kind: "schemas", schemas };
}

/** Returns the schema in a file, or a sentence if the file is not a schema. */
function readSchema(file: string, text: string): NamedSchema | string {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch {
    return `${file} is not JSON`;
  }
  if (
    !isObject(schema) ||
    !NAMED.includes(String(schema.type)) ||
    typeof schema.name !== "string"
  ) {
    return `${file} is not a named Avro type, such as a record or an enum`;
  }
  const names = { defined: new Set<string>(), used: new Set<string>() };
  walk(schema, "", names);
  const name = fullName(schema.name, namespaceOf(schema, ""));
  return { file, name, text: JSON.stringify(schema), uses: [...names.used] };
}

interface Names {
  readonly defined: Set<string>;
  readonly used: Set<string>;
}

function walk(schema: unknown, namespace: string, names: Names): void {
  if (Array.isArray(schema)) {
    for (const branch of schema) walk(branch, namespace, names);
    return;
  }
  if (typeof schema === "string") {
    if (PRIMITIVE.includes(schema)) return;
    const name = fullName(schema, namespace);
    if (!names.defined.has(name)) names.used.add(name);
    return;
  }
  if (!isObject(schema)) return;
  const { type, name } = schema;
  if (typeof type === "string" && NAMED.includes(type) && typeof name === "string") {
    const own = namespaceOf(schema, namespace);
    names.defined.add(fullName(name, own));
    const fields = Array.isArray(schema.fields) ? schema.fields : [];
    for (const field of fields) if (isObject(field)) walk(field.type, own, names);
    return;
  }
  if (type === "array") walk(schema.items, namespace, names);
  else if (type === "map") walk(schema.values, namespace, names);
  else walk(type, namespace, names);
}

/** A dotted name contains its namespace. */
function namespaceOf(schema: Readonly<Record<string, unknown>>, around: string): string {
  const { name, namespace } = schema;
  if (typeof name === "string" && name.includes(".")) return name.slice(0, name.lastIndexOf("."));
  return typeof namespace === "string" ? namespace : around;
}

function fullName(name: string, namespace: string): string {
  return name.includes(".") || namespace === "" ? name : `${namespace}.${name}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
