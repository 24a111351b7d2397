// The table in the header of command.ts.

import { expect, test } from "vitest";
import { verdictOf, waitingFor } from "../../../../../src/program/cli/schemas/command.ts";

const RIGHT = "BACKWARD_TRANSITIVE";
const registered = { kind: "registered", id: 7, version: 2 } as const;

test.each([
  [registered, RIGHT, "nothing", /^registered as version 2, id 7$/],
  [registered, "NONE", "do", /^registered as version 2, id 7; its compatibility is NONE$/],
  [registered, null, "do", /compatibility is not set$/],
  [{ kind: "new" }, "NONE", "do", /^new$/],
  [{ kind: "compatible" }, RIGHT, "do", /^not registered; compatible/],
  [{ kind: "compatible" }, "NONE", "do", /compatibility is NONE$/],
  [
    { kind: "unchecked" },
    RIGHT,
    "do",
    /^not registered; .* checks its compatibility only when it is registered$/,
  ],
  [{ kind: "incompatible", why: "" }, RIGHT, "refused", /^incompatible: .* wrote$/],
  [{ kind: "incompatible", why: "no b" }, RIGHT, "refused", /^incompatible: .*: no b$/],
] as const)("%j of compatibility %s: %s", (state, compatibility, action, says) => {
  const verdict = verdictOf("x.A", { state, compatibility });
  expect(verdict).toMatchObject({ subject: "x.A", action });
  expect(verdict.says).toMatch(says);
});

test("a schema that uses one that is not registered waits for it", () => {
  expect(waitingFor("x.A", "x.B")).toMatchObject({ action: "do" });
  expect(waitingFor("x.A", "x.B").says).toContain("it uses x.B");
});
