// The rewriter of rules has the same result as JSON.parse with the same change, keeps the digits of numbers, and leaves
// no dropped name.

import fc from "fast-check";
import { expect, test } from "vitest";

import { JsonValue } from "../../../../src/router/rules/json-value.ts";
import { ruledCall } from "../../../support/build/ruled-call.ts";

const NAMES = ["a", "email", "é", "__proto__", "constructor", "1", ""];
const name = fc.constantFrom(...NAMES);
const number = fc.constantFrom(
  "0",
  "-0.0",
  "1.50",
  "1e3",
  "9007199254740993",
  "12345678901234567890",
);
const scalar = fc.oneof(
  number,
  fc.constantFrom("null", "true", '""'),
  fc.string().map((s) => JSON.stringify(s)),
);
/** Generates a name in a form that JSON allows. */
const spelled = fc
  .tuple(name, fc.boolean())
  .map(([text, isEscaped]) =>
    isEscaped
      ? `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`
      : JSON.stringify(text),
  );
const space = fc.constantFrom("", " ", "\n\t");
const object = (value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(spelled, space, value), { maxLength: 6 })
    .map(
      (members) =>
        `{${members.map(([key, gap, json]) => `${gap}${key}${gap}:${gap}${json}`).join(",")}}`,
    );
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    scalar,
    object(tie("value")),
    fc.array(tie("value"), { maxLength: 3 }).map((entries) => `[ ${entries.join(" , ")}]`),
  ),
})).value;

const callOf = (traits: string) => `{"type":"group","groupId":"g","userId":"u","traits":${traits}}`;

test("dropping a name equals JSON.parse without it, and no spelling of it stays", () => {
  fc.assert(
    fc.property(
      object(json),
      fc.constantFrom("a", "email", "é", "constructor", "1"),
      (traits, dropped) => {
        const { value } = ruledCall(
          `filters: [{ name: f, dropProperties: { traits: [${JSON.stringify(dropped)}] } }]`,
          callOf(traits),
        );
        const expected = JSON.parse(callOf(traits)) as { traits: Record<string, unknown> };
        Reflect.deleteProperty(expected.traits, dropped);
        expect(JSON.parse(value ?? "")).toEqual(expected);
        const root = JsonValue.of(value ?? "").get("traits");
        expect(root?.names()).not.toContain(dropped);
      },
    ),
  );
});

test("the digits of all numbers that stay are kept", () => {
  fc.assert(
    fc.property(fc.array(number, { minLength: 1 }), (numbers) => {
      const { value } = ruledCall(
        "map: [{ set: traits.z, value: x }, { remove: traits.a }]",
        callOf(`{"a":1,"n":[${numbers.join(", ")}]}`),
      );
      expect(value).toBe(callOf(`{"n":[${numbers.join(", ")}],"z":"x"}`));
    }),
  );
});

test("the compact text of a value equals that of JSON.parse, apart from digits and the order of keys", () => {
  fc.assert(
    fc.property(json, (text) => {
      const compact = JsonValue.of(text).compact();
      expect(JSON.parse(compact)).toEqual(JSON.parse(text));
      expect(JsonValue.of(compact).compact()).toBe(compact);
    }),
  );
});

test("rules never throw, whatever a call has at their paths", () => {
  const rules = `filters:
  - { name: f, dropProperties: { traits.a: [email], "": [properties] }, allowProperties: { traits.email: [a] } }
map:
  - { hash: traits.email.a, normalize: email }
  - { string: traits.\\1 }
  - { move: traits.constructor, to: traits.new.b }`;
  fc.assert(
    fc.property(object(json), (traits) => {
      expect(ruledCall(rules, callOf(traits)).reason).toBe("by-default");
    }),
  );
});

test("changes to one copy of a value are in no other copy, and not in the value", () => {
  fc.assert(
    fc.property(object(json), name, name, (text, one, other) => {
      const value = JsonValue.of(text);
      const alone = (changed: string) => {
        const root = JsonValue.of(text);
        root.delete(changed);
        root.touch(changed);
        return root.text();
      };
      const [first, second] = [value.copy(), value.copy()];
      first.delete(one);
      first.touch(one);
      second.delete(other);
      second.touch(other);
      expect([first.text(), second.text(), value.text()]).toEqual([alone(one), alone(other), text]);
    }),
  );
});

const PLACES = ["traits", "context.traits", "properties"];
const DEEP = PLACES.flatMap((place) =>
  ["phone", "address", "address.street"].map((n) => `${place}.${n}`),
);
const SECRET = "algorithm: hmac-sha256, secret: 0123456789abcdef";
const mapEntry = fc.oneof(
  fc.constantFrom(...DEEP, "context.traits").map((path) => `{ remove: ${path} }`),
  fc.constantFrom(...DEEP).map((path) => `{ string: ${path} }`),
  fc.constantFrom(...DEEP).map((path) => `{ hash: ${path} }`),
  fc.constantFrom(...DEEP).map((path) => `{ hash: ${path}, ${SECRET} }`),
  fc.constantFrom(...DEEP).map((path) => `{ move: ${path}, to: context.moved }`),
  fc.constantFrom(...DEEP).map((path) => `{ move: context.other, to: ${path} }`),
);
/** Calls in which several paths lead to the same place. Each value is a number of its own. */
const CALLS_WITH_ALIASES = [
  {
    type: "identify",
    context: { other: 1000001, traits: { phone: 1000002, address: { street: 1000003 } } },
  },
  {
    ...{ type: "page", traits: { phone: 1000004, address: { street: 1000005 } } },
    ...{
      properties: { phone: 1000006, address: { street: 1000007 } },
      context: { other: 1000001 },
    },
  },
  {
    ...{ type: "identify", traits: { phone: 1000008, address: { street: 1000009 } } },
    context: { other: 1000001, traits: { phone: 1000002, address: { street: 1000003 } } },
  },
].map((call) => ({ ...call, userId: "u", messageId: "m" }));

test("the order of entries has no effect, and nothing that one of them removes or hashes is sent", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CALLS_WITH_ALIASES),
      fc.uniqueArray(mapEntry, { minLength: 2, maxLength: 5 }),
      fc.infiniteStream(fc.nat(1_000)),
      (call, entries, numbers) => {
        const rulesOf = (list: readonly string[]) => `map: [${list.join(", ")}]`;
        fc.pre(isValid(rulesOf(entries)));
        const shuffled = entries
          .map((entry) => ({ entry, at: numbers.next().value }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ entry }) => entry);
        const sent = ruledCall(rulesOf(entries), call).value ?? "";
        expect(ruledCall(rulesOf(shuffled), call).value).toBe(sent);
        const numbersIn = (json: string): readonly string[] => json.match(/100000\d/g) ?? [];
        for (const entry of entries.filter((each) => /^. (remove|hash)/.test(each))) {
          const alone = numbersIn(ruledCall(rulesOf([entry]), call).value ?? "");
          const gone = numbersIn(JSON.stringify(call)).filter((each) => !alone.includes(each));
          for (const each of gone) expect(sent).not.toContain(each);
        }
      },
    ),
  );
});

function isValid(rules: string): boolean {
  try {
    ruledCall(rules, CALLS_WITH_ALIASES[0] ?? {});
    return true;
  } catch {
    return false;
  }
}
