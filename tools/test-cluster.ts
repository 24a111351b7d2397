/**
 * `npm run test:cluster -- [FILE...]`: the integration tests on three brokers of their own. Topics are
 * kept three times where a test does not say otherwise. Arguments go on to Vitest. `cluster-suite.ts` has what
 * is left out.
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
    // Stronger than the configurations of tests, which are made for one broker.
    SWITCHYARD_KAFKA_REPLICATION_FACTOR: "3",
  },
});
process.exitCode = isGood ? 0 : 1;
