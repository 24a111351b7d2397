import { describe, expect, test } from "vitest";
import { plainTree } from "../../../src/config/plain-yaml.ts";

test("lists at both indentations, maps, scalars, comments and empty lines", () => {
  const text = `# written by a program
a:
  - id: x
    url: https://example.com/?q=1#part

    headers: {}
  - "y: z"
b:
- 7d
- 12
- null
c:
  d: 'true'
  e: true
  f:
`;
  const entry = { id: "x", url: "https://example.com/?q=1#part", headers: {} };
  const rest = { b: ["7d", 12, null], c: { d: "true", e: true, f: null } };
  expect(plainTree(text)).toEqual({ a: [entry, "y: z"], ...rest });
});

test("JSON", () => {
  expect(plainTree('{"a": ["b:\\"", {"c": 1.5}]}\n')).toEqual({ a: ['b:"', { c: 1.5 }] });
});

describe("left to the parser", () => {
  test.each([
    "",
    "just text",
    "- a",
    "a: 1\na: 2",
    '{"a": 1, "a": 2}',
    "{a: 1}",
    "a: [b]",
    "a: &b c",
    "a: *b",
    "a: !t b",
    "a: |\n  b",
    "a: b\n  c",
    "a: b # c",
    'a: "b\\n"',
    "a: 'b''c'",
    "a: 1.5",
    "a: 0x1f",
    "a: -1",
    "a: True",
    "a: .inf",
    "a:\tb",
    "a: b\r\n",
    "a: é",
    "---\na: b",
    "%YAML 1.1\n---\na: b",
    "a:\n  b: c\n d: e",
    "a:\n  - - b",
    "a b: c",
    '"a": b',
    "null: a",
  ])("%j", (text) => {
    expect(plainTree(text)).toBeNull();
  });
});
