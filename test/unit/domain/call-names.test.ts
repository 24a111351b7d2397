import { expect, test } from "vitest";

import { callNames } from "../../../src/domain/call-names.ts";

const bytes = (text: string) => Buffer.from(text);

test.each([
  { headers: [], names: {} },
  { headers: [["switchyard-message-id", bytes("m1")]], names: { messageId: "m1" } },
  {
    headers: [
      ["switchyard-source", bytes("web")],
      ["switchyard-message-id", bytes("m1")],
      ["other", bytes("x")],
    ],
    names: { messageId: "m1", source: "web" },
  },
  {
    headers: [
      ["switchyard-message-id", bytes("first")],
      ["switchyard-message-id", bytes("last")],
    ],
    names: { messageId: "last" },
  },
  { headers: [["switchyard-source", null]], names: {} },
  {
    headers: [["switchyard-message-id", bytes("m".repeat(1_000))]],
    names: { messageId: "m".repeat(100) },
  },
] as const)("the headers $headers name $names", ({ headers, names }) => {
  expect(callNames(headers)).toEqual(names);
});
