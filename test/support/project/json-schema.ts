/**
 * Checks a value against a JSON Schema, with the keywords that `schemas/` uses. An unknown keyword
 * is an error, so that nothing is skipped.
 */

interface Schema {
  readonly [keyword: string]: unknown;
}

const SAYS_NOTHING = ["$schema", "title", "description"];
type Check = (value: unknown, wanted: never, schema: Schema, path: string) => readonly string[];

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;

const CHECKS: Readonly<Record<string, Check>> = {
  type: (value, type: string, _schema, path) =>
    typeOf(value) === type || (type === "number" && typeOf(value) === "integer")
      ? []
      : [`${path} is ${typeOf(value)}, expected ${type}`],
  enum: (value, choices: readonly unknown[], _schema, path) =>
    choices.includes(value) ? [] : [`${path} is ${JSON.stringify(value)}, none of the choices`],
  const: (value, only: unknown, _schema, path) =>
    value === only ? [] : [`${path} is ${JSON.stringify(value)}, expected ${JSON.stringify(only)}`],
  minimum: (value, least: number, _schema, path) =>
    typeof value !== "number" || value >= least ? [] : [`${path} is ${value}, below ${least}`],
  format: (value, _format: "date-time", _schema, path) =>
    INSTANT.test(String(value)) ? [] : [`${path} is no instant`],
  required: (value, names: readonly string[], _schema, path) =>
    names
      .filter((name) => !Object.hasOwn(Object(value), name))
      .map((name) => `${path}.${name} is missing`),
  properties: (value, properties: Readonly<Record<string, Schema>>, _schema, path) =>
    Object.entries(Object(value) as object).flatMap(([name, inner]) => {
      const known = properties[name];
      return known === undefined
        ? [`${path}.${name} is not described`]
        : schemaProblems(known, inner, `${path}.${name}`);
    }),
  items: (value, item: Schema, _schema, path) =>
    (Array.isArray(value) ? value : []).flatMap((inner, at) =>
      schemaProblems(item, inner, `${path}[${at}]`),
    ),
};

/** Stricter than JSON Schema: a field that the schema does not describe is a problem. */
export function schemaProblems(schema: Schema, value: unknown, path = "$"): readonly string[] {
  return Object.entries(schema).flatMap(([keyword, wanted]) => {
    if (SAYS_NOTHING.includes(keyword)) return [];
    const check = CHECKS[keyword];
    if (check === undefined) throw new Error(`${path}: ${keyword} is not known here`);
    return check(value, wanted as never, schema, path);
  });
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
