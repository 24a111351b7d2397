import { Readable } from "node:stream";
import picocolors from "picocolors";
import { expect, test } from "vitest";
import type { Shell } from "../../../../../src/operator/connect/shell.ts";
import { filterCommand } from "../../../../../src/program/cli/filter/command.ts";

async function tryOn(lines: string, args: readonly string[]) {
  const printed = { out: "", err: "" };
  const colors = picocolors.createColors(false);
  const shell: Shell = {
    env: {},
    stdin: Readable.from([Buffer.from(lines)]),
    out: (text) => {
      printed.out += text;
    },
    raw: () => undefined,
    err: (text) => {
      printed.err += text;
    },
    colors,
    errColors: colors,
    onlyPrints: () => undefined,
    errIsTerminal: false,
    screen: null,
  };
  await filterCommand(shell).parseAsync(["try", ...args], { from: "user" });
  return printed;
}

const CALLS = [
  '{"type":"track","event":"Order Completed","properties":{"total":5,"flag":"yes"}}',
  '\uFEFF{"type":"page"}',
  "[1]",
].join("\n");

test("each call is shown with the value of each term", async () => {
  const { out } = await tryOn(CALLS, [
    "type = 'track' and (properties.total > 3 or\n properties.flag)",
  ]);
  expect(out).toBe(
    [
      "line 1  matches",
      `  type = 'track': true  (type is "track")`,
      "  properties.total > 3: true  (properties.total is 5)",
      `  properties.flag: "yes", which is neither a boolean nor null`,
      "line 2  does not match",
      `  type = 'track': false  (type is "page")`,
      "  properties.total > 3: false  (properties.total is null)",
      "  properties.flag: null",
      "line 3  the line is not a JSON object of at most 1048576 bytes",
      "",
    ].join("\n"),
  );
});

test("--json prints one object per call", async () => {
  const { out } = await tryOn(CALLS, ["match(event, 'Order *') or contains(!'a', 'b')", "--json"]);
  const lines = out.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      line: 1,
      matches: true,
      terms: [
        { term: "match(event, 'Order *')", value: true, reads: { event: "Order Completed" } },
        { term: "contains(!'a', 'b')", value: null, isInvalid: true },
      ],
    },
    { line: 2, matches: false },
    { line: 3, error: "the line is not a JSON object of at most 1048576 bytes" },
  ]);
});

test("an invalid expression is wrong usage, and a warning is printed", async () => {
  await expect(tryOn(CALLS, ["type == 'track'"])).rejects.toThrow(
    "expression, column 6: found `==`, expected an operator, `and`, `or` or the end (write = instead of ==)",
  );
  const { err } = await tryOn(CALLS, ["match('Order *', event)"]);
  expect(err).toContain("warning: column 1: the first argument of match looks like a pattern");
});
