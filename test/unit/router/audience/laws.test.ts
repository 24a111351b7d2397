// The laws of the chaos run for audiences: each must be able to fail, because otherwise a run would prove nothing.

import { describe, expect, test } from "vitest";

import {
  AUDIENCE_LAWS,
  type Evidence,
  type Expected,
  judgeAudiences,
  type ReportedCall,
} from "../../../chaos/audience-laws.ts";
import type { Exposure } from "../../../chaos/violation.ts";

const EXPECTED: Expected = {
  reported: new Map([
    ["u1 a", ["true", "false", "true"]],
    ["u2 a", ["true"]],
  ]),
  members: new Map([["a", new Set(["u1", "u2"])]]),
  deadLetters: new Set(["0/7"]),
};

/** `u1+1` is a call for u1 with the value true and the message ID 1. */
function calls(text: string): readonly ReportedCall[] {
  return text.split(" ").map((each, index) => {
    const [, user = "", sign = "", id = ""] = /^(\w+)([+-])(\w+)$/.exec(each) ?? [];
    const value = sign === "+" ? "true" : "false";
    return { about: `${user} a`, value, messageId: `${user}/${id}`, atMs: index * 1_000 };
  });
}

function evidence(text: string, more: Partial<Evidence> = {}): Evidence {
  return {
    calls: calls(text),
    members: EXPECTED.members,
    deadLetters: EXPECTED.deadLetters,
    ...more,
  };
}

function broken(given: Evidence, exposures: readonly Exposure[] = []): readonly string[] {
  return judgeAudiences(EXPECTED, given, exposures).violations.map(({ law }) => law);
}

const RIGHT = "u1+1 u2+1 u1-2 u1+3";

describe("no law is broken", () => {
  test.each([
    ["when each change is reported once", RIGHT],
    ["when a step is repeated as a whole", "u1+1 u2+1 u1-2 u1+3 u1+1 u1-2 u1+3"],
    ["when the last one comes again", "u1+1 u1-2 u1+3 u1+3 u2+1 u2+1"],
  ])("%s", (_name, text) => {
    expect(broken(evidence(text))).toEqual([]);
  });

  test("what comes again is counted", () => {
    expect(judgeAudiences(EXPECTED, evidence(`${RIGHT} u2+1 u2+1`), []).repeated).toBe(2);
  });
});

const PLANTED: readonly (readonly [law: string, name: string, given: Evidence])[] = [
  ["missing", "a user who entered is not reported", evidence("u1+1 u1-2 u1+3")],
  ["missing", "a removal is lost", evidence("u1+1 u1+3 u2+1")],
  ["unwanted", "a sync that was cut short removes somebody", evidence(`${RIGHT} u2-2`)],
  ["unwanted", "a repeat has another message id", evidence(`${RIGHT} u2+9`)],
  ["unwanted", "a user who is in no sync is reported", evidence(`${RIGHT} u3+1`)],
  ["unwanted", "something else is reported", evidence("u1+1 u1-2 u1-3 u2+1")],
  ["order", "true and false are swapped", evidence("u1-2 u1+1 u1+3 u2+1")],
  ["last", "an old call is repeated alone", evidence(`${RIGHT} u1-2`)],
  ["identity", "one message id says two things", evidence("u1+1 u1-2 u1+3 u2+1 u1-3 u1+3")],
  ["invalid", "what cannot be used is passed over", evidence(RIGHT, { deadLetters: new Set() })],
  [
    "invalid",
    "what can be used is dead-lettered",
    evidence(RIGHT, { deadLetters: new Set(["0/7", "0/8"]) }),
  ],
  ["state", "a member is lost", evidence(RIGHT, { members: new Map([["a", new Set(["u1"])]]) })],
  ["state", "an audience is lost", evidence(RIGHT, { members: new Map() })],
  [
    "state",
    "somebody who left is kept",
    evidence(RIGHT, { members: new Map([["a", new Set(["u1", "u2", "u3"])]]) }),
  ],
];

describe("a planted bug is found", () => {
  test.each(PLANTED)("%s: %s", (law, _name, given) => {
    expect(new Set(broken(given))).toEqual(new Set([law]));
  });

  test("for every law", () => {
    expect(new Set(PLANTED.map(([law]) => law))).toEqual(new Set(AUDIENCE_LAWS));
  });
});

describe("a call of a process that had been taken for dead", () => {
  const late = evidence(`${RIGHT} u1-2`);
  const exposure = { fromMs: 3_500, toMs: 9_000 };

  test("is excused during a fault that such a process outlives", () => {
    expect(broken(late, [{ kind: "freeze", ...exposure }])).toEqual([]);
    expect(judgeAudiences(EXPECTED, late, [{ kind: "silence", ...exposure }]).overtaken).toBe(1);
  });

  test("is not when it was killed, nor at another time", () => {
    expect(broken(late, [{ kind: "kill", ...exposure }])).toEqual(["last"]);
    expect(broken(late, [{ kind: "freeze", fromMs: 0, toMs: 3_500 }])).toEqual(["last"]);
  });

  test("excuses nothing that is reported for the first time", () => {
    const given = evidence(`${RIGHT} u2-2`);
    expect(broken(given, [{ kind: "freeze", ...exposure }])).toEqual(["unwanted"]);
  });
});
