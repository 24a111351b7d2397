// Rules that a configuration accepts, and rules that it rejects, with the path and the problem; warnings; files of
// Segment.

import { expect, test } from "vitest";
import { pathText } from "../../../../../src/base/settings/problem.ts";
import { printConfig, printJson } from "../../../../../src/config/print.ts";
import { readYaml } from "../../../../../src/config/yaml.ts";
import { parse, printed } from "../../../../support/build/config-source.ts";
import { rulesYaml } from "../../../../support/build/ruled-call.ts";

function parsed(rules: string, more = "", files: Readonly<Record<string, string>> = {}) {
  return parse(rulesYaml(rules, more), {}, files);
}

function problemsOf(
  rules: string,
  files: Readonly<Record<string, string>> = {},
): readonly string[] {
  const result = parsed(rules, "", files);
  if (result.kind === "config") return [];
  return result.problems.map(({ path, found }) => `${pathText(path.slice(2))}: ${found}`);
}

function warningsOf(rules: string, more = ""): readonly string[] {
  const result = parsed(rules, more);
  return result.kind === "config" ? result.warnings : ["invalid"];
}

const filter = (rest: string) => `filters: [{ name: a, ${rest} }]`;
const two = (one: string, other: string) => `map: [{ ${one} }, { ${other} }]`;
const LONG = "x".repeat(65);

test.each([
  [`consent: [${"x".repeat(35)}]`, "consent[0]: "],
  ["consent: []", "consent: an empty list"],
  ["consent: { match: all }", "consent.categories: nothing"],
  ["consent: { categories: [A], match: some }", "consent.match: "],
  ["consent: { categorys: [A] }", "consent.categorys: an unknown setting"],
  [filter("enabled: true"), "filters[0]: no action"],
  [filter("drop: false"), "filters[0]: no action"],
  ["filters: [{ drop: true }]", "filters[0].name: nothing"],
  [`filters: [{ name: ${LONG}, drop: true }]`, "filters[0].name: "],
  ["filters: [{ name: a, drop: true }, { name: a, drop: true }]", "filters[1].name: "],
  [
    `filters: [${Array.from({ length: 51 }, (_, n) => `{ name: n${n}, drop: true }`).join(", ")}]`,
    "filters: a list of 51",
  ],
  [filter("drop: true, sources: [none]"), "filters[0].sources[0]: "],
  [filter("drop: true, if: 'event = '"), "filters[0].if: "],
  [filter(`drop: true, if: ""`), "filters[0].if: "],
  [filter("sample: { share: 1.1 }"), "filters[0].sample.share: 1.1"],
  [filter("sample: { by: userId }"), "filters[0].sample.share: nothing"],
  [filter("sample: { share: 0.1, by: a..b }"), "filters[0].sample.by: "],
  [filter("dropProperties: { a..b: [c] }"), `filters[0].dropProperties["a..b"]: `],
  [filter("dropProperties: { traits: email }"), "filters[0].dropProperties.traits: "],
  [filter(`dropProperties: { "": [messageId] }`), `filters[0].dropProperties[""]: messageId`],
  [filter(`dropProperties: { "": [type] }`), `filters[0].dropProperties[""]: type`],
  [filter(`dropProperties: { "": [timestamp] }`), `filters[0].dropProperties[""]: timestamp`],
  [filter(`allowProperties: { "": [userId] }`), `filters[0].allowProperties[""]: `],
  [filter(`dropProperties: { "": [userId] }`), `filters[0].dropProperties[""]: userId`],
  [
    filter(`dropProperties: { "": [event] }, if: "type != 'alias'"`),
    `filters[0].dropProperties[""]: event`,
  ],
  [
    filter(`dropProperties: { "": [groupId] }, if: "event = 'group'"`),
    `filters[0].dropProperties[""]: groupId`,
  ],
  ["map: [{ remove: userId }]", "map[0]: userId"],
  ["map: [{ move: event, to: properties.event }]", "map[0]: event"],
  ["map: [{ remove: a, move: b, to: c }]", "map[0]: move and remove"],
  ["map: [{ to: b }]", "map[0]: no action"],
  ["map: [{ remove: a, to: b }]", "map[0].to: "],
  ["map: [{ move: a }]", "map[0].to: nothing"],
  ["map: [{ set: a }]", "map[0].value: nothing"],
  ["map: [{ event: A, to: '' }]", "map[0].to: "],
  ["map: [{ remove: a. }]", "map[0].remove: "],
  ["map: [{ set: type, value: x }]", "map[0]: "],
  ["map: [{ remove: timestamp }]", "map[0]: "],
  ["map: [{ hash: messageId }]", "map[0]: "],
  ["map: [{ hash: a, algorithm: hmac-sha256 }]", "map[0].secret: nothing"],
  ["map: [{ hash: a, algorithm: hmac-sha256, secret: short }]", "map[0].secret: a shorter one"],
  ["map: [{ hash: a, secret: 0123456789abcdef }]", "map[0].secret: a secret"],
  [two("set: a, value: 1", "set: a, value: 1"), "map[1]: "],
  [two(`set: a, value: 1, if: "b = 1"`, `remove: a, if: "b = 2"`), "map[1]: "],
  [two("set: a.b, value: 1", "remove: a"), "map[1]: "],
  [two("move: a, to: b", "hash: a.c"), "map[1]: "],
  [two("event: A, to: b", "event: A, to: c"), "map[1]: "],
  [two("event: A, to: b", "set: event, value: c"), "map[1]: "],
  ["map: [{ move: a, to: a.b }]", "map[0]: "],
  [
    `map: [${Array.from({ length: 101 }, (_, n) => `{ remove: a${n} }`).join(", ")}]`,
    "map: a list of 101",
  ],
])("%s is rejected", (rules, problem) => {
  expect(problemsOf(rules)[0]).toContain(problem);
});

test.each([
  [two("event: A, to: b", "event: B, to: b")],
  [two("copy: a, to: b", "copy: a, to: c")],
  [two("set: a, value: null", "copy: messageId, to: b")],
  [filter(`dropProperties: { "": [userId] }, if: "type != 'alias'"`)],
  [filter(`dropProperties: { "": [event] }, if: "type in ['page', 'identify'] and a = 1"`)],
  [filter(`dropProperties: { "": [groupId] }, if: "type = 'page' or type = 'track'"`)],
  [filter(`dropProperties: { "": [userId] }, sources: [web]`)],
  ["map: [{ set: a, value: { b: [1, null] } }]"],
  ["consent: { categories: [A], match: any, required: true }"],
])("%s is accepted", (rules) => {
  expect(problemsOf(rules)).toEqual([]);
});

function hintsOf(rules: string): readonly (string | null)[] {
  const result = parsed(rules);
  return result.kind === "config" ? [] : result.problems.map(({ hint }) => hint);
}

test.each([
  ["properties[0]", "write properties;"],
  ["properties.list[0].x", "write properties.list.x;"],
  ["contacts[].x", "write contacts.x;"],
  ["contacts[*].email", "write contacts.email;"],
  ["properties.list.0.x", "write properties.list.x;"],
  ["properties.list.*", "write properties.list;"],
  ["$.properties.x", "write properties.x;"],
  ["$", "write a name;"],
  ["traits['email']", "write traits.email;"],
  ['traits["email"]', "write traits.email;"],
  ["traits[email]", "write traits.email;"],
  ["/traits/email", "write traits.email;"],
  ["traits->email", "write traits.email;"],
  [" traits.email", "write traits.email;"],
  ["Traits.email", "write traits.email;"],
  ["trait.email", "write traits.email;"],
  ["propertys.x", "write properties.x;"],
  ["user_id", "write userId;"],
  ["userID", "write userId;"],
  ["userId.x", "userId has no values inside"],
  ["timestamp.x", "timestamp has no values inside"],
])("the path %s is rejected, with a hint", (path, hint) => {
  const text = JSON.stringify(path);
  for (const rules of [
    `map: [{ hash: ${text} }]`,
    `map: [{ copy: ${text}, to: properties.z }]`,
    `map: [{ copy: properties.z, to: ${text} }]`,
    filter(`sample: { share: 0.5, by: ${text} }`),
    filter(`dropProperties: { ${text}: [z] }`),
    filter(`allowProperties: { ${text}: [z] }`),
  ]) {
    expect(hintsOf(rules)[0]).toContain(hint);
  }
});

test.each(["\\user_id", "traits.\\[0]", "traits.total\\.net", "$set.x", "eventId", "traits.a b"])(
  "the path %s is accepted",
  (path) => {
    expect(hintsOf(`map: [{ hash: ${JSON.stringify(path)} }]`)).toEqual([]);
  },
);

test.each([
  ["all", "omit the condition"],
  ["True", "write true"],
  ["NULL", "write null"],
  ["!all", "omit the condition"],
  ["event = 'A' and enabled", "write enabled = true"],
  ["userId", "userId != null"],
  ["user_id = 'u'", "a backslash"],
  ["Properties.total > 1", "a backslash"],
  ["contains(trait.email, '@')", "a backslash"],
  ["type = 'Track'", "did you mean 'track'?"],
  ["type != 'trak'", "did you mean 'track'?"],
  ["type in ['track', 'pages']", "did you mean 'page'?"],
  ["'tracks' = type", "did you mean 'track'?"],
])("the condition %s is rejected, with a hint", (condition, hint) => {
  const text = JSON.stringify(condition);
  expect(hintsOf(filter(`drop: true, if: ${text}`))[0]).toContain(hint);
  expect(hintsOf(`map: [{ remove: properties.x, if: ${text} }]`)[0]).toContain(hint);
});

test.each(["true", "false", "properties.isTest", "isTest = true", "\\isTest", "type = 'delete'"])(
  "the condition %s is accepted",
  (condition) => {
    expect(hintsOf(filter(`drop: true, if: ${JSON.stringify(condition)}`))).toEqual([]);
  },
);

test.each(["if: true", "if: 5", "if: [all]", "if: { a: 1 }"])("%s is no condition", (condition) => {
  expect(problemsOf(filter(`drop: true, ${condition}`))[0]).toContain("filters[0].if: ");
});

test.each([
  ...["{ set: context, value: 5 }", "{ set: context, value: [] }", "{ set: traits, value: null }"],
  ...["{ set: userId, value: [1] }", "{ set: userId, value: true }", "{ set: event, value: 5 }"],
  ...["{ set: groupId, value: {} }", "{ set: previousId, value: [] }", "{ set: name, value: {} }"],
  ...["{ set: integrations, value: x }", "{ set: category, value: [] }"],
  ...["{ hash: properties }", "{ hash: traits }", "{ hash: context }", "{ string: properties }"],
  ...["{ copy: userId, to: traits }", "{ move: traits, to: anonymousId }"],
  ...["{ copy: context, to: event }", "{ copy: messageId, to: properties }"],
])("%s would make calls invalid, or do nothing, and is rejected", (entry) => {
  expect(problemsOf(`map: [${entry}]`)[0]).toContain("map[0]: ");
});

test.each(["previousId", "userId", "groupId", "event"])(
  "%s can be set or hashed, but not emptied",
  (field) => {
    const set = (value: string) => `map: [{ set: ${field}, value: ${value} }]`;
    expect(problemsOf(set("x"))).toEqual([]);
    expect(problemsOf(`map: [{ hash: ${field} }]`)).toEqual([]);
    for (const rules of [set('""'), set("null"), `map: [{ move: ${field}, to: properties.x }]`]) {
      expect(problemsOf(rules)[0]).toContain(`map[0]: ${field} is removed`);
    }
  },
);

test("entries that meet at one place of a call are warned of, unless they do the same", () => {
  const meets = (rules: string) => warningsOf(rules).filter((each) => each.includes("meet"));
  expect(meets(two("remove: context.traits.phone", "string: traits.phone"))).toEqual([
    expect.stringContaining(
      "destinations[0].map[1]: in identify calls, it can meet entry [0] at context.traits.phone",
    ),
  ]);
  expect(meets(two("hash: properties.a", "remove: traits"))[0]).toContain("in page calls");
  expect(meets(two("hash: traits.a", "hash: context.traits.a"))).toEqual([]);
  expect(meets(two("hash: traits.a", "remove: context.traits.b"))).toEqual([]);
  const ifTrack = `if: "type = 'track'"`;
  expect(meets(two(`hash: properties.a, ${ifTrack}`, "remove: traits"))).toEqual([]);
});

test("the hint for a removed user ID leads to a configuration without warnings", () => {
  const [hint] = hintsOf("map: [{ remove: userId }]");
  const condition = (hint ?? "").replace("add ", "");
  expect(warningsOf(`map: [{ remove: userId, ${condition} }]`).join()).not.toContain(
    "changes userId",
  );
});

test.each([
  [`map: [{ hash: userId, if: "type = 'track'" }]`, "destinations[0].map[0]: it changes userId"],
  [
    `map: [{ remove: userId, if: "type != 'alias' and a = 1" }]`,
    "destinations[0].map[0]: it changes userId",
  ],
  [filter("dropProperties: { traits: [address.city] }"), '"address.city" is the name of one'],
  [filter(`dropProperties: { "": [user_id] }`), '"user_id" is the name of one'],
  [filter(`drop: true, if: "match('a*', event)"`), "destinations[0].filters[0].if: "],
])("of %s is warned", (rules, warning) => {
  expect(warningsOf(rules).some((each) => each.includes(warning))).toBe(true);
});

test("of audiences that rules silence or cut is warned", () => {
  const audience = (rest: string) => `audiences: [{ id: vip, source: web${rest} }]`;
  const consent = "consent: { categories: [Ads], required: true }";
  expect(warningsOf(consent, audience("")).join()).toContain("gets no calls from the audience vip");
  expect(warningsOf(consent, audience(", consent: { Ads: false }")).join()).toContain("vip");
  expect(warningsOf(consent, audience(", consent: { Ads: true }")).join()).not.toContain("vip");
  const allow = filter("allowProperties: { traits: [plan] }");
  expect(warningsOf(allow, audience(", key: is_vip")).join()).toContain("omits is_vip");
  expect(warningsOf(allow, audience(", key: plan")).join()).not.toContain("omits");
});

const SEGMENT = [
  {
    ...{ id: "f1", title: "No test", if: "event = 'Test'", enabled: false, createdAt: "2026" },
    actions: [
      { type: "DROP" },
      { type: "SAMPLE", percent: 0.25, path: "userId" },
      { type: "DROP_PROPERTIES", fields: { "context.traits": ["email"] } },
      { type: "ALLOW_PROPERTIES", fields: { properties: ["a"] } },
    ],
  },
  { title: "All", if: "all", actions: [{ type: "SAMPLE", percent: 1, path: "" }] },
];

test("filters of Segment's form are read from a file", () => {
  const result = parsed("filters: { file: f.json }", "", { "f.json": JSON.stringify(SEGMENT) });
  if (result.kind === "invalid") throw new Error(JSON.stringify(result.problems));
  expect(result.config.destinations[0]?.filters).toEqual([
    {
      ...{ name: "No test", sources: null, if: "event = 'Test'", enabled: false, drop: true },
      sample: { share: 0.25, by: "userId" },
      dropProperties: [{ path: "context.traits", names: ["email"] }],
      allowProperties: [{ path: "properties", names: ["a"] }],
    },
    {
      ...{ name: "All", sources: null, if: null, enabled: true, drop: false },
      ...{ sample: { share: 1, by: "messageId" }, dropProperties: [], allowProperties: [] },
    },
  ]);
});

test.each([
  ["{}", "which has other content"],
  ["[", "which has other content"],
  [JSON.stringify([{ title: "A", if: "all", actions: [{ type: "RENAME" }] }]), "[0].type"],
  [JSON.stringify([{ title: "A", actions: [{ type: "DROP" }] }]), "nothing, at f.json[0].if"],
  [JSON.stringify([{ title: "A", If: "all", actions: [] }]), "f.json[0].If"],
  [JSON.stringify([{ title: "A", if: "all", enable: false, actions: [] }]), "f.json[0].enable"],
  [
    JSON.stringify([{ title: "A", if: "all", actions: [{ type: "SAMPLE", Path: "userId" }] }]),
    "f.json[0].actions[0].Path",
  ],
  [
    '[{"title":"A","if":"all","actions":[{"type":"DROP_PROPERTIES","fields":{"a":["b"], "a":["c"]}}]}]',
    'which has "a" twice in an object',
  ],
  ['[{"title":"A","if":"all","if":"event = 1","actions":[{"type":"DROP"}]}]', '"if" twice'],
  ['[{"title":"A","if":"all","i\\u0066":"true","actions":[{"type":"DROP"}]}]', '"if" twice'],
  [JSON.stringify([{ title: "A", if: "a ==", actions: [{ type: "DROP" }] }]), "f.json[0].if"],
  [JSON.stringify([{ if: "all", actions: [{ type: "DROP" }] }]), "f.json[0].title"],
])("a problem in a file names the file: %s", (content, problem) => {
  const [first] = problemsOf("filters: { file: f.json }", { "f.json": content });
  expect(first).toContain("filters.file: ");
  expect(first).toContain(problem);
});

test("a file that cannot be read is a problem", () => {
  expect(problemsOf("filters: { file: none.json }")[0]).toContain("cannot be read");
});

test("secrets of hashes are not printed", () => {
  const secret = "0123456789abcdef-secret";
  const map = `map: [{ hash: userId, algorithm: hmac-sha256, secret: ${secret} }]`;
  const text = printed(rulesYaml(map));
  expect(text).toContain("hash: userId");
  expect(text).not.toContain(secret);
});

test("config print keeps each null that is a value, so that what it prints can be loaded again", () => {
  const rules =
    "map: [{ set: properties.a, value: null }, { set: properties.b, value: { c: null, d: [null] } }]";
  const result = parsed(rules);
  if (result.kind === "invalid") throw new Error(JSON.stringify(result.problems));
  const again = readYaml(printConfig(result.given));
  if (again.kind === "invalid") throw new Error(again.problems[0]?.found);
  const { destinations } = again.tree as { destinations: readonly { map: unknown }[] };
  expect(destinations[0]?.map).toEqual([
    { set: "properties.a", value: null },
    { set: "properties.b", value: { c: null, d: [null] } },
  ]);
  expect(JSON.parse(printJson(result.given))).toEqual(again.tree);
});
