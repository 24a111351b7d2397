/** Writes the file with which a new user starts, and its JSON Schema next to it. */

import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { configurationSchemaText } from "./json-schema.ts";

const SCHEMA_FILE = "switchyard.schema.json";

export const FIRST_FILE = `# Configuration of Switchyard. To check this file, run \`switchyard config check\` in its folder.
# \${NAME} is replaced by an environment variable, and \${NAME:-value} has a default.
# \${file:/run/secrets/name} is replaced by the content of a file.

kafka:
  # A list of addresses, or a string with commas.
  brokers: \${KAFKA_BROKERS:-localhost:9092}
  # tls: true
  # sasl: { mechanism: scram-sha-512, username: switchyard, password: "\${KAFKA_PASSWORD}" }

  # Topics are created with this many partitions, which is also the maximum number of processes that share the work.
  partitions: 6

# Where calls come from, and which destinations each source is connected to.
sources:
  - id: website
    # Applications send calls over HTTP with this key. Remove the key if they write only to Kafka.
    writeKey: \${WRITE_KEY}
    destinations: [crm]

# The source of calls that do not name one. Without this setting, such calls become dead letters.
defaultSource: website

# Where calls go.
destinations:
  - id: crm
    type: webhook
    # The name in the \`integrations\` of a call.
    name: CRM
    # Signs each request, so that the receiver can verify it. To create one: openssl rand -hex 32
    sharedSecret: \${CRM_SECRET}
    endpoints:
      - url: https://crm.example.com/hook
    # Maximum number of deliveries attempted at the same time, in each process.
    concurrency: 64
    # requestsPerSecond: 50

# Writes a record of each attempt, from which \`switchyard timeline\` shows what happened to a call.
attempts: { enabled: true }
`;

/**
 * Writes `file` and its schema. Stops at the first file that already exists or cannot be written.
 *
 * @returns the files that were written; `problem` is null if both were.
 */
export function writeFirstFiles(file: string): {
  readonly files: readonly string[];
  readonly problem: string | null;
} {
  const texts = [
    [file, `# yaml-language-server: $schema=${SCHEMA_FILE}\n${FIRST_FILE}`],
    [join(dirname(file), SCHEMA_FILE), configurationSchemaText()],
  ] as const;
  const files: string[] = [];
  for (const [path, text] of texts) {
    try {
      writeFileSync(path, text, { flag: "wx" });
      files.push(path);
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
      const reason = exists ? "it already exists" : (error as Error).message;
      const problem = `Cannot write ${path}: ${reason}. Choose another file, or remove this one.`;
      return { files, problem };
    }
  }
  return { files, problem: null };
}
