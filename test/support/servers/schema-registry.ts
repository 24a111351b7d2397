/** Provides the schema registry that integration tests share, and registers schemas. */

/**
 * The URL of the Confluent API. The registry is started when the first test requests it (global-kafka.ts). Each test
 * uses separate subjects.
 */
export async function sharedRegistry(): Promise<string> {
  const given = process.env.SWITCHYARD_REGISTRY_URL;
  if (given !== undefined && given !== "") return given.replace(/\/+$/, "");
  const launcher = process.env.SWITCHYARD_TEST_LAUNCHER;
  if (launcher === undefined) throw new Error("only integration tests have a schema registry");
  const response = await fetch(`${launcher}/registry`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}

export interface RegisteredSchema {
  readonly schema: string;
  /** Avro if not set. */
  readonly schemaType?: "JSON" | "PROTOBUF";
  readonly references?: readonly {
    readonly name: string;
    readonly subject: string;
    readonly version: number;
  }[];
}

/** Registers a schema, and returns its ID. */
export async function registerSchema(
  url: string,
  subject: string,
  schema: RegisteredSchema,
): Promise<number> {
  const response = await fetch(`${url}/subjects/${encodeURIComponent(subject)}/versions`, {
    method: "POST",
    headers: { "content-type": "application/vnd.schemaregistry.v1+json" },
    body: JSON.stringify(schema),
  });
  const body: unknown = await response.json();
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  if (typeof id !== "number") throw new Error(`not registered: ${JSON.stringify(body)}`);
  return id;
}
