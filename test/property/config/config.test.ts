// Laws of the configuration, for any content of the file.

import fc from "fast-check";
import { expect, test } from "vitest";
import { showUrl } from "../../../src/base/settings/endpoint-url.ts";
import { pathText, problemText } from "../../../src/base/settings/problem.ts";
import { durationText, parseDuration } from "../../../src/base/settings/scalars.ts";
import { parseConfig } from "../../../src/config/parse.ts";
import { printConfig } from "../../../src/config/print.ts";
import { readYaml } from "../../../src/config/yaml.ts";
import { SMALL } from "../../support/build/config-source.ts";
import { costlyInputs } from "../../support/build/generated-inputs.ts";
import { anyText } from "../../support/build/generated-text.ts";

const noFiles = () => ({ kind: "unreadable", why: "no files here" }) as const;
/** Each input is a whole configuration. */
const numRuns = costlyInputs(5, 5_000);
/** The tree that is parsed from a valid file. */
const good = treeOf(SMALL);

function treeOf(text: string): unknown {
  const yaml = readYaml(text);
  if (yaml.kind !== "yaml") throw new Error("this is not YAML");
  return yaml.tree;
}

/** Loads the configuration as far as possible. If there is a result, it must be complete. */
function use(raw: unknown, env: Record<string, string> = {}): void {
  const parsed = parseConfig(raw, env, noFiles);
  if (parsed.kind === "config") {
    expect(parsed.config.kafka.brokers.length).toBeGreaterThan(0);
    expect(printConfig(parsed.given)).toContain("kafka:");
  } else {
    expect(parsed.problems.length).toBeGreaterThan(0);
    for (const problem of parsed.problems) {
      expect(problemText({ ...problem, line: null, file: null })).toContain(pathText(problem.path));
    }
  }
}

/** Values of every kind, with the settings' own names among the keys. */
const names = "kafka brokers sources destinations id type webhook endpoints url headers tls sasl \
mechanism plain delivery delays allowNetworks __proto__ constructor toString".split(" ");
const key = fc.oneof(fc.constantFrom(...names), fc.string());
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    fc.oneof(fc.constantFrom(...names), fc.string(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 6 }),
  ),
}));

test("any tree gives a configuration or problems, never an exception", () => {
  fc.assert(
    fc.property(tree, (raw) => use(raw)),
    { numRuns },
  );
});

test("so does any value in the place of a setting", () => {
  const paths = fc.array(fc.constantFrom(...names, 0, 1), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(paths, tree, (path, value) => use(put(good, path, value))),
    { numRuns },
  );
});

test("so does any text as YAML, alone or inside a good file", () => {
  const text = fc.oneof(fc.string(), anyText(), yamlLike());
  fc.assert(
    fc.property(text, fc.nat(SMALL.length), (noise, at) => {
      for (const source of [noise, SMALL.slice(0, at) + noise + SMALL.slice(at)]) {
        const yaml = readYaml(source);
        if (yaml.kind === "yaml") use(yaml.tree);
        else expect(yaml.problems.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: costlyInputs(20, 1_000) },
  );
});

test("so does any environment", () => {
  const name = fc.constantFrom("KAFKA_BROKERS", "KAFKA_TLS", "KAFKA_SASL_MECHANISM", "LOG_LEVEL");
  fc.assert(
    fc.property(name, fc.string(), (variable, value) => {
      use(good, { [`SWITCHYARD_${variable}`]: value });
    }),
    { numRuns },
  );
});

test("a duration is read back as it was written", () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000), (ms) => {
      expect(parseDuration(durationText(ms))).toBe(ms);
    }),
  );
});

test("a shown URL has its host, and neither password nor path nor query", () => {
  const part = fc.stringMatching(/^[a-z0-9]{12}$/);
  fc.assert(
    fc.property(part, part, part, (password, value, path) => {
      for (const url of [
        `https://user:${password}@example.com/${path}?a=${value}&b=${value}#c=${value}`,
        `https://${password}@example.com:80/${path}`,
        `https://example.com?${value}`,
        `example.com/${path}?${value}#${value}`,
      ]) {
        const shown = String(showUrl(url));
        expect(shown).toContain("example.com");
        for (const secret of [password, value, path]) expect(shown).not.toContain(secret);
      }
      for (const url of [
        password,
        `user:${password}`,
        `user:${password}@`,
        `https://user:80/${password}@example.com/`,
        `https://user:${password}/x@example.com`,
        `https:user:${password}`,
        `${password}@example.com/${path}`,
      ]) {
        expect(String(showUrl(url))).not.toContain(password);
      }
    }),
  );
});

function put(root: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(root) && typeof key === "number") {
    return root.map((entry, index) => (index === key ? put(entry, rest, value) : entry));
  }
  const map = typeof root === "object" && root !== null ? root : {};
  return { ...map, [key]: put(Reflect.get(map, key), rest, value) };
}

/** Texts of YAML's special characters, which random texts rarely have in a meaningful order. */
function yamlLike(): fc.Arbitrary<string> {
  const signs = [
    "{",
    "}",
    "[",
    "]",
    ":",
    " ",
    "\n",
    "- ",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    '"',
    "'",
    "#",
  ];
  return fc
    .array(fc.constantFrom(...signs, "a", "$", "<<", "---", "\t", "? "), { maxLength: 30 })
    .map((parts) => parts.join(""));
}
