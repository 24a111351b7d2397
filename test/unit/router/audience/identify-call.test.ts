// The call for a user who entered or left an audience.

import { expect, test } from "vitest";
import type { SourceId } from "../../../../src/domain/ids.ts";
import { callMaker } from "../../../../src/router/audience/identify-call.ts";

test("a call says who, which trait, and when, in a value that route takes", () => {
  const options = {
    topic: "calls",
    source: "web" as SourceId,
    trait: 'a"b',
    atMs: 1_700_000_000_000,
  };
  const consent = { Advertising: true, Analytics: false };
  const record = callMaker({ ...options, integrations: { All: false }, consent }).call(
    'u"1',
    true,
    "id",
  );
  expect(JSON.parse(`${record.value}`)).toEqual({
    type: "identify",
    messageId: "id",
    userId: 'u"1',
    traits: { 'a"b': true },
    context: { consent: { categoryPreferences: consent } },
    integrations: { All: false },
    timestamp: "2023-11-14T22:13:20.000Z",
  });
  expect([`${record.key}`, record.sharedHeaders]).toEqual([
    'u"1',
    [["source-id", Buffer.from("web")]],
  ]);
});
