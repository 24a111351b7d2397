// Hints: names that are nearly correct, booleans of YAML 1.1, and ports.

import { expect, test } from "vitest";

import { pathText } from "../../../src/base/settings/problem.ts";
import { config, problems, SMALL } from "../../support/build/config-source.ts";

test.each([
  ["a type", ["type: webhook", "type: webhok"], "destinations[0].type", "did you mean webhook?"],
  ["a destination", ["[hook]", "[hok]"], "sources[0].destinations[0]", "did you mean hook?"],
  ["a source", ["sources:", "defaultSource: wev\nsources:"], "defaultSource", "did you mean web?"],
  ["a choice", ["sources:", "log: { level: wann }\nsources:"], "log.level", "did you mean warn?"],
  [
    "yes",
    ["type:", "paused: yes, type:"],
    "destinations[0].paused",
    "write true, because yes is a string",
  ],
  [
    "Off",
    ["type:", "paused: Off, type:"],
    "destinations[0].paused",
    "write false, because Off is a string",
  ],
  [
    "quotes",
    ["type:", 'paused: "true", type:'],
    "destinations[0].paused",
    "write true, because true is",
  ],
])("%s", (_name, [from, to], path, hint) => {
  const [problem] = problems(SMALL.replace(`${from}`, `${to}`));
  expect(problem && pathText(problem.path)).toBe(path);
  expect(problem?.hint).toContain(hint);
});

test.each([
  [
    'destinations: [{ id: a, type: topic, name: A, proxy: "http://p:1" }]',
    "destinations[0].proxy",
    "it is a setting of type: webhook",
  ],
  [
    "destinations: [{ id: a, type: topic, name: A, order: strict }]",
    "destinations[0].order",
    "it is a setting of type: webhook",
  ],
  ["destinations: [{ id: a, type: topic, name: A, prxy: none }]", "destinations[0].prxy", null],
  [
    "kafka: { brokers: [k:9092], sasl: { mechanism: oauthbearer, tokenUrl: https://t, clientId: c, clientSecret: s, username: u } }",
    "kafka.sasl.username",
    "it is a setting of mechanism: plain or scram-sha-256 or scram-sha-512",
  ],
])("a setting that another variant has: %s", (lines, path, hint) => {
  const all = problems(
    lines.startsWith("kafka") ? lines : `kafka: { brokers: [k:9092] }\n${lines}`,
  );
  expect(all.map((each) => [pathText(each.path), each.hint])).toContainEqual([path, hint]);
});

test.each([
  ["log: { level: purple }"],
  ["defaultSource: nothing-like-it"],
  ["kafka2: {}"],
  ["delivery: { onCrash: 7 }"],
])("%s is like nothing, and gets no such hint", (line) => {
  const found = problems(`${SMALL}\n${line}`);
  expect(found).not.toEqual([]);
  expect(found.map(({ hint }) => hint ?? "").join()).not.toMatch(
    /purple|nothing-like|did you mean web/,
  );
});

test.each([
  ["ingest: { port: 9464 }", {}],
  ["admin: { port: 8080 }", {}],
  ["ingest: { port: 7000 }\nadmin: { port: 7000 }", {}],
  ["", { SWITCHYARD_INGEST_PORT: "9464" }],
])("ingest and admin on one port are rejected: %s %j", (lines, env) => {
  const [problem] = problems(`${SMALL}\n${lines}`, env);
  expect(problem && pathText(problem.path)).toBe("ingest.port");
  expect(problem?.found).toContain("as in admin.port");
});

test("any free port, twice, is two ports", () => {
  expect(config(`${SMALL}\ningest: { port: 0 }\nadmin: { port: 0 }`).admin.port).toBe(0);
});
