/**
 * The integration tests that `npm run test:cluster` skips, with the reasons. All other tests must pass on three
 * brokers. The skipped tests run in `npm test`.
 */

const OWN_BROKER = "it starts its own broker, and a single broker cannot have three replicas";
const OWN_CLUSTER = "it starts its own three brokers";
const NO_KAFKA = "it uses no Kafka, or tests how local ones are started and stopped";

/** The reasons by the names of the files in `test/integration`, without `.test.ts`. */
export const SKIPPED_SUITES: Readonly<Record<string, string>> = {
  alerts: OWN_BROKER,
  chaos: OWN_BROKER,
  "chaos-audience": OWN_BROKER,
  "chaos-cluster": OWN_CLUSTER,
  cluster: OWN_CLUSTER,
  "cluster-policies": OWN_BROKER,
  "console-program": OWN_BROKER,
  "corrupt-batch": OWN_BROKER,
  "ingest-outage": OWN_BROKER,
  "kafka-unreachable": OWN_BROKER,
  "kafka-ipv6": OWN_BROKER,
  "kafka-listeners": OWN_BROKER,
  "kafka-outage": OWN_BROKER,
  "kafka-quotas": OWN_BROKER,
  "kafka-permissions": OWN_BROKER,
  "kafka-request-versions": OWN_BROKER,
  "kafka-rights": OWN_BROKER,
  "kafka-security": OWN_BROKER,
  "kafka-sessions": OWN_BROKER,
  "kafka-signals": OWN_BROKER,
  "local-cluster": NO_KAFKA,
  "local-kafka": NO_KAFKA,
  "local-registry": NO_KAFKA,
  "moving-clusters": OWN_BROKER,
};

/** Returns the lines to print. */
export function skippedText(): string {
  const byReason = Map.groupBy(Object.entries(SKIPPED_SUITES), ([, reason]) => reason);
  return [...byReason]
    .map(([reason, files]) => `skipped: ${files.map(([file]) => file).join(", ")} (${reason})\n`)
    .join("");
}
