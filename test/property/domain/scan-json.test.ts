// Compares the JSON scanner with JSON.parse: it accepts the same texts, and finds the same values in a call.

import fc from "fast-check";
import { expect, test } from "vitest";

import { parseCall } from "../../../src/domain/parse-call.ts";
import { endOfValue, skipSpace } from "../../../src/domain/scan-json.ts";
import { scanCall } from "../../../src/router/ingest/scan-call.ts";
import { anyJson, nearCall, validCall } from "../../support/build/generated-calls.ts";
import { GENERATED_INPUTS } from "../../support/build/generated-inputs.ts";
import { anyText } from "../../support/build/generated-text.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isScanned(text: string): boolean {
  const bytes = Buffer.from(text);
  const end = endOfValue(bytes, skipSpace(bytes, 0), { deepest: 0 });
  return end >= 0 && skipSpace(bytes, end) === bytes.length;
}

/** Tests the text alone, in a list and in an object, because the character that ends a value differs. */
function expectAgreement(text: string): void {
  for (const each of [text, `[${text}]`, `{"a":${text}}`, `[[],${text},{}]`]) {
    expect([each, isScanned(each)]).toEqual([each, isJson(each)]);
  }
}

test.each([
  ...["0", "-0", "10", "-1.5e+10", "1E-2", "1e400", "0.10", "true", "false", "null"],
  ...['""', '"\\u00e9\\n\\/\\""', '"\\ud800"', '"\u007f\u2028é😀"', "[]", "{}", " [ ] ", "{ }"],
  ...['\t{\n"a"\r:\n1 , "a" : [ 1 ,2 ] }', '{"":{"":[{}]}}', '[{"a":[]},[[]],"]"]'],
  ...["[".repeat(3_000) + "]".repeat(3_000), `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`],
])("is JSON: %.60s", (text) => {
  expect(isScanned(text)).toBe(true);
  expectAgreement(text);
});

test.each([
  ...["", " ", "-", "+1", "01", "-01", "1.", ".5", "1.e1", "1e", "1e+", "0x1", "1_0", "NaN", "1 2"],
  ...["t", "tru", "truex", "True", "nul", "falsy", "undefined", "'a'", "a", "\u00a01", "\ufeff1"],
  ...['"', '"a', '"\\"', '"\\', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\U0041"', '"\n"', '"\u0000"'],
  ...["[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 1]", "[1}", "[[]", "[]]"],
  ...["{", "}", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a" 1}', '{"a":}', "{a:1}"],
  ...["{1:1}", '{"a":1 "b":2}', '{"a":1]', "{,}", '{"a":1}}', '{"a"::1}', '{"a\\":1}', "/**/1"],
])("is no JSON: %s", (text) => {
  expect(isScanned(text)).toBe(false);
  expectAgreement(text);
});

const pieces = fc.constantFrom(
  ...'{}[]",:\\/ 0179.-+eEu\n\t',
  ...['"a":', '"",', "null", "true", "1e5", "\\u00e9", "é", "\u0001"],
);
const corrupt = fc.tuple(anyJson, fc.nat(), pieces).map(([json, at, piece]) => {
  const text = JSON.stringify(json);
  const index = at % (text.length + 1);
  return text.slice(0, index) + piece + text.slice(index + 1);
});

test("whatever the text: it is JSON for both or for neither", () => {
  const texts = fc.oneof(
    { weight: 4, arbitrary: corrupt },
    { weight: 2, arbitrary: fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: anyText() },
  );
  const checked = fc.property(texts, (text) => expectAgreement(text.toWellFormed()));
  fc.assert(checked, { numRuns: GENERATED_INPUTS });
});

/** Formats JSON as other programs may, with unnecessary escapes and spaces. */
function spelled(json: unknown, escaped: readonly number[], space: string): string {
  let index = 0;
  const text = JSON.stringify(json).replace(/"(?:[^"\\]|\\.)*"/g, (quoted) =>
    quoted.replace(/\\(?:u.{4}|.)|[^"\\]/g, (unit) => {
      index += 1;
      const isEscaped = unit.length === 1 && escaped.includes(index % 50);
      return isEscaped ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}` : unit;
    }),
  );
  return `${space}${text}${space}`;
}

test("whatever the call: its fields say the same as all of it", () => {
  const calls = fc.oneof(validCall, nearCall, anyJson);
  const escaped = fc.array(fc.nat(49), { maxLength: 12 });
  fc.assert(
    fc.property(calls, escaped, fc.constantFrom("", " ", "\n\t"), (call, units, space) => {
      const bytes = Buffer.from(spelled(call, units, space).toWellFormed());
      const whole = parseCall(JSON.parse(bytes.toString()));
      const sent = scanCall(bytes, skipSpace(bytes, 0));
      expect(sent && bytes.toString("utf8", sent.start, sent.end)).toBe(bytes.toString().trim());
      const read = parseCall(sent?.fields);
      if (whole.kind === "refused" || read.kind === "refused") {
        expect(read).toEqual(whole);
        return;
      }
      const decisive = ({ type, userId, anonymousId, messageId }: typeof whole.call) => ({
        type,
        userId,
        anonymousId,
        messageId,
      });
      expect(decisive(read.call)).toEqual(decisive(whole.call));
    }),
    { numRuns: GENERATED_INPUTS },
  );
});
