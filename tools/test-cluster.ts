/**
 * `npm run test:cluster -- [FILE...]`: runs the integration tests on three new brokers. Topics have
 * three replicas unless a test sets another number. Arguments are passed to Vitest. `cluster-suite.ts` lists
 * the skipped tests.
 */

import { SKIPPED_SUITES, skippedText } from "./cluster-suite.ts";
import { startCluster } from "./kafka/cluster.ts";
import { runShown } from "./steps.ts";

const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort(new Error("Interrupted.")));

process.stdout.write(skippedText());
const left = Object.keys(SKIPPED_SUITES).map(
  (name) => `--exclude=test/integration/${name}.test.ts`,
);
const log = (line: string) => void process.stderr.write(`kafka: ${line}\n`);
await using cluster = await startCluster({ signal: interrupted.signal, log });
const isGood = await runShown({
  name: "integration tests on three brokers",
  command: ["vitest", "run", "--project", "integration", ...left, ...process.argv.slice(2)],
  env: {
    SWITCHYARD_KAFKA_BROKERS: cluster.brokers.join(),
    SWITCHYARD_KAFKA_JARS: cluster.jars,
    // This overrides the configurations of tests, which are for one broker.
    SWITCHYARD_KAFKA_REPLICATION_FACTOR: "3",
  },
});
process.exitCode = isGood ? 0 : 1;
