// The sources of an audience's settings.

import { expect, test } from "vitest";
import type { SourceId } from "../../../../src/domain/ids.ts";
import { settingsOf } from "../../../../src/router/audience/audience-settings.ts";

test("what an audience's entry omits comes from the defaults, then from defaultSource", () => {
  const nothing = { source: null, integrations: null, approvalShare: null, approvalMinimum: null };
  const web = "web" as SourceId;
  const settings = settingsOf({
    audiences: [
      { id: "a", key: "k", ...nothing, consent: { Advertising: true }, approvalShare: 0.1 },
    ],
    audienceDefaults: { ...nothing, integrations: { All: false }, approvalShare: 0.5 },
    defaultSource: web,
  });
  expect(settings("a")).toEqual({
    source: web,
    key: "k",
    integrations: { All: false },
    consent: { Advertising: true },
    approvalShare: 0.1,
    approvalMinimum: 100,
  });
  expect(settings("b")).toMatchObject({ key: null, consent: null, approvalShare: 0.5 });
  expect(settings(null)).toMatchObject({ source: web, integrations: { All: false } });
});
