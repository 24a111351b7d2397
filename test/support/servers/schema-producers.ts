/**
 * Real producers that write values with schemas, in processes of their own: confluent-kafka for
 * Python, and Java's client with Apicurio's serializer. Confluent's own serializer for Java is not
 * on Maven Central.
 */

import { spawn } from "node:child_process";
import { join } from "node:path";

import { prepareEnvironment, pythonOf } from "./client-libraries.ts";
import { type JavaProgram, prepareJava } from "./maven-jars.ts";

export const CODECS = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

/** The records to write: `COUNT` records with each codec, with IDs such as `java-avro-prefix-gzip-0`. */
export interface Writing {
  readonly format: "avro" | "json" | "protobuf";
  readonly framing: "prefix" | "prefix-8" | "header-id" | "header-guid" | "header-own";
  readonly codecs: readonly (typeof CODECS)[number][];
}

export interface Target {
  readonly brokers: string;
  readonly topic: string;
  /** The URL of a registry's Confluent API. */
  readonly registry: string;
  /** The URL of Apicurio's own API, version 2. */
  readonly apicurio: string;
}

export interface SchemaProducer {
  readonly name: "python" | "java";
  /** Resolves with null if the producer is available, and otherwise with the reason why it is not. */
  prepare(): Promise<string | null>;
  /** Resolves when the brokers have all records. */
  write(target: Target, writing: Writing): Promise<void>;
}

export const COUNT = 3;
const PREPARE_LIMIT_MS = 180_000;
const REQUIREMENT = "confluent-kafka[avro,json,protobuf,schemaregistry]==2.16.0";
const JAVA = join(import.meta.dirname, "schema-producer-java");
const SCHEMA = join(import.meta.dirname, "order-completed.avsc");

export function messageIds({ name }: SchemaProducer, writing: Writing): readonly string[] {
  const { format, framing, codecs } = writing;
  return codecs.flatMap((codec) =>
    Array.from({ length: COUNT }, (_, index) => `${name}-${format}-${framing}-${codec}-${index}`),
  );
}

/** The fields of order-completed.avsc in a webhook with `payload: full`. */
export const ORDER_COMPLETED = {
  type: "track",
  userId: "u1",
  event: "Order Completed",
  timestamp: "2026-03-01T09:30:15.250Z",
  properties: {
    // The nearest double, as in a JSON number.
    order_id: 9_007_199_254_740_992,
    total: 12.34,
    status: "PAID",
    day: "2026-03-01",
    seen_at: "2026-03-01T09:30:15.250123Z",
    note: null,
    weights: { a: 0.5, b: null },
    items: [{ sku: "s1", quantity: 2 }],
    raw: "AP8=",
    either: 7,
  },
};

export const PYTHON: SchemaProducer = {
  name: "python",
  prepare: () => prepareEnvironment(REQUIREMENT, AbortSignal.timeout(PREPARE_LIMIT_MS)),
  write: async ({ brokers, topic, registry }, { format, framing, codecs }) => {
    const script = join(import.meta.dirname, "schema_producer.py");
    const args = [brokers, topic, registry, format, framing, codecs.join(), `${COUNT}`];
    await runToEnd(pythonOf(REQUIREMENT), [script, ...args]);
  },
};

let program: JavaProgram = { kind: "none", why: "it is not prepared" };

export const JAVA_CLIENT: SchemaProducer = {
  name: "java",
  prepare: async () => {
    const signal = AbortSignal.timeout(PREPARE_LIMIT_MS);
    const size = "26 MB";
    const source = { folder: JAVA, main: "SchemaProducer", what: "Apicurio's serializer", size };
    program = await prepareJava(source, signal);
    return program.kind === "none" ? program.why : null;
  },
  write: async ({ brokers, topic, apicurio }, { framing, codecs }) => {
    if (program.kind === "none") throw new Error(program.why);
    const args = [brokers, topic, apicurio, SCHEMA, framing, codecs.join(), `${COUNT}`];
    await runToEnd(program.java, [...program.args, ...args]);
  },
};

/** Throws an Error with the end of the output if the program fails. */
async function runToEnd(file: string, args: readonly string[]): Promise<void> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-4_000);
    });
  }
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("close", resolve);
  const status = await promise;
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}: ${said}`);
}
