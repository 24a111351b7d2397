// Which releases of Kafka are tested, and that the page names them.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { listedVersion, rangeOf } from "../../../../tools/kafka/newest.ts";
import { KAFKA_VERSION_DEFAULT } from "../../../../tools/kafka/settings.ts";
import { LINES, TESTS, testedVersions } from "../../../../tools/kafka/tested-versions.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

test("each line has been tested, with a release of it", () => {
  const tested = testedVersions();
  expect(Object.keys(tested)).toEqual([...LINES]);
  for (const line of LINES) {
    expect(tested[line]).toMatch(/^\d+\.\d+\.\d+$/);
    if (line !== "newest") expect(tested[line].startsWith(`${line}.`)).toBe(true);
  }
});

test("the page on connecting names each tested version, and the tests that ran with it", () => {
  const page = readFileSync(join(ROOT, "docs/connect.md"), "utf8");
  const section = page.slice(page.indexOf("## Versions of Kafka"), page.indexOf("## Topics"));
  for (const version of Object.values(testedVersions()))
    expect(section).toContain(`| ${version} |`);
  expect(section).toContain(`| ${KAFKA_VERSION_DEFAULT} | all`);
  expect(section).toContain(TESTS.map((name) => `\`${name}\``).join(", "));
});

test("the tests that run with each version exist, and those of the contract and two stages are among them", () => {
  for (const name of TESTS) {
    expect(existsSync(join(ROOT, `test/integration/${name}.test.ts`)), name).toBe(true);
  }
  expect(TESTS).toEqual(expect.arrayContaining(["kafka-contract", "route", "deliver"]));
});

test.each([
  ["newest", "[4.0,)"],
  ["3.9", "[3.9.0,3.10-alpha)"],
  ["4.0", "[4.0.0,4.1-alpha)"],
  ["4.0.2", null],
])("%s is a range of Maven", (wanted, range) => {
  expect(rangeOf(wanted)).toBe(range);
});

test.each(["", "latest", "4", "4.x", "4.0.2-rc0"])("%j is rejected", (wanted) => {
  expect(() => rangeOf(wanted)).toThrow("is not");
});

test("the version that Maven lists", () => {
  const list = (version: string) =>
    `\nThe following files have been resolved:\n   org.apache.kafka:kafka_2.13:jar:${version}:compile\n`;
  expect(listedVersion(list("4.0.2"))).toBe("4.0.2");
  expect(() => listedVersion(list("4.5.0-rc1"))).toThrow("lists no release");
  expect(() => listedVersion("")).toThrow("lists no release");
});
