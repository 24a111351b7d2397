// The modules that a command loads: the help of every command, and `--version`, do not load modules that make a start
// slow.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

import { COMMANDS } from "../../src/program/cli/command-table.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const HEAVY = [
  ...["@platformatic/kafka", "undici", "prom-client", "pino", "avsc", "yaml", "classic-level"],
  "@opentelemetry",
];

/** Prints on standard error which modules are loaded, including those loaded with `require`. */
const SPY = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    load: (url, context, next) => {
      process.stderr.write("loads " + url + "\\n");
      return next(url, context);
    },
  });
`)}`;

function loadedBy(args: readonly string[]): { readonly out: string; readonly loaded: string[] } {
  const argv = ["--import", SPY, MAIN, ...args];
  const { SWITCHYARD_CONFIG: _config, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8", env });
  return { out: stdout, loaded: [...stderr.matchAll(/^loads (.+)$/gm)].map(([, url]) => `${url}`) };
}

function heavy(loaded: readonly string[]): readonly string[] {
  return HEAVY.filter((name) => loaded.some((url) => url.includes(`/node_modules/${name}/`)));
}

test.each(["--version", "--help", ...COMMANDS.map(({ name }) => `${name} --help`)])(
  "`switchyard %s` loads no client and no parser",
  (line) => {
    const { out, loaded } = loadedBy(line.split(" "));
    expect(out).toMatch(line === "--version" ? /^\d+\.\d+\.\d+\n$/ : /^Usage: switchyard/);
    expect(loaded.some((url) => url.endsWith("/src/program/cli/program.ts"))).toBe(true);
    expect(heavy(loaded)).toEqual([]);
  },
);

test("--version loads no command", () => {
  const { loaded } = loadedBy(["--version"]);
  expect(loaded.filter((url) => /\/src\/.*command\.ts$/.test(url))).toEqual([]);
});

// The spy must be able to detect them.
test("what reads the configuration is loaded with the first use", () => {
  const { loaded } = loadedBy(["config", "check", "--config", MAIN]);
  expect(heavy(loaded)).toEqual(["yaml"]);
});

test("the Kafka client is loaded with the first use", () => {
  const kafka = join(import.meta.dirname, "../../src/kafka/kafka.ts");
  const argv = ["--import", SPY, kafka];
  const { stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  expect(stderr).toContain("/node_modules/@platformatic/kafka/");
});
