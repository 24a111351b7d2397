/**
 * Which integration tests `npm run test:cluster` leaves out, and why. All others must pass on three brokers.
 * Those that are left out run in `npm test`.
 */

const OWN_BROKER = "it starts a broker of its own, which alone cannot keep a topic three times";
const OWN_CLUSTER = "it starts its own three brokers";
const NO_KAFKA =
  "it asks no Kafka for anything, or starts and ends local ones: that is what it tests";

/** By name of the file in `test/integration`, without `.test.ts`. */
export const SKIPPED_SUITES: Readonly<Record<string, string>> = {
  alerts: OWN_BROKER,
  chaos: OWN_BROKER,
  "chaos-audience": OWN_BROKER,
  "chaos-cluster": OWN_CLUSTER,
  cluster: OWN_CLUSTER,
  "cluster-policies": OWN_BROKER,
  "cluster-quiet": OWN_CLUSTER,
  "cluster-start": OWN_CLUSTER,
  "cluster-outages": OWN_CLUSTER,
  "console-program": OWN_BROKER,
  "corrupt-batch": OWN_BROKER,
  "corrupt-batch-program": OWN_BROKER,
  "ingest-outage": OWN_BROKER,
  "kafka-unreachable": OWN_BROKER,
  "kafka-connecting": OWN_BROKER,
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
  "kafka-signals-outage": OWN_BROKER,
  "local-cluster": NO_KAFKA,
  "local-kafka": NO_KAFKA,
  "local-registry": NO_KAFKA,
  "moving-clusters": OWN_BROKER,
  "waiting-outage": OWN_BROKER,
};

/** Lines for people. */
export function skippedText(): string {
  const byReason = Map.groupBy(Object.entries(SKIPPED_SUITES), ([, reason]) => reason);
  return [...byReason]
    .map(([reason, files]) => `left out: ${files.map(([file]) => file).join(", ")} (${reason})\n`)
    .join("");
}
