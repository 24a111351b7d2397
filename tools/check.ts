/**
 * `npm run check`: the checks that a change should pass before it is committed. They take only seconds, and need no
 * Kafka.
 */

import { runQuietly, STATIC_STEPS, type Step } from "./steps.ts";

const TESTS: Step = {
  name: "unit and property tests",
  command: ["vitest", "run", "--project", "unit*", "--reporter", "minimal"],
};

const failed = await runQuietly([...STATIC_STEPS, TESTS]);
process.exitCode = failed.length === 0 ? 0 : 1;
