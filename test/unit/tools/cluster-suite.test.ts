// The tests that the suite on three brokers skips are listed by name, and no test is skipped that could run there.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { SKIPPED_SUITES, skippedText } from "../../../tools/cluster-suite.ts";

const DIRECTORY = join(import.meta.dirname, "../../integration");
const FILES = readdirSync(DIRECTORY).map((file) => file.replace(/\.test\.ts$/, ""));
/** Ways to start brokers. */
const STARTS =
  /private: true|\b(?:prepareBroker|startBroker|startSecuredBroker|startCluster|programOnCluster|frontedKafka|pageOnKafka|runChaos|runAudienceChaos|runKafka)\(|tools\/kafka\/main/;

test("each file that is omitted is there", () => {
  expect(Object.keys(SKIPPED_SUITES).filter((name) => !FILES.includes(name))).toEqual([]);
});

test("each file that starts brokers itself is omitted", () => {
  const starting = FILES.filter((name) =>
    STARTS.test(readFileSync(join(DIRECTORY, `${name}.test.ts`), "utf8")),
  );
  expect(starting.filter((name) => SKIPPED_SUITES[name] === undefined)).toEqual([]);
});

test("each is named with its reason", () => {
  for (const [name, reason] of Object.entries(SKIPPED_SUITES)) {
    const line = skippedText()
      .split("\n")
      .find((each) => each.includes(`(${reason})`));
    expect(line?.split(/[ ,:]+/)).toContain(name);
  }
});
