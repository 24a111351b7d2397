// A test per row of the file's table and per sentence of docs/rules.md#consent.

import { expect, test } from "vitest";

import { hasConsent } from "../../../../src/router/rules/consent.ts";
import { ruledCall } from "../../../support/build/ruled-call.ts";

const RULE = { categories: ["Ads", "Share"], match: "all", required: false } as const;
const prefer = (categoryPreferences: unknown) => ({ consent: { categoryPreferences } });
const deny = (deniedConsentIds: unknown, more = {}) => ({
  consentManagement: { deniedConsentIds, ...more },
});

test.each([
  ["all are granted", prefer({ Ads: true, Share: true }), true],
  ["one is not named", prefer({ Ads: true }), false],
  ["one is false", prefer({ Ads: true, Share: false }), false],
  ["only the literal true grants", prefer({ Ads: true, Share: "true" }), false],
  ["1 is not true", prefer({ Ads: 1, Share: 1 }), false],
  ["categories are case-sensitive", prefer({ ads: true, share: true }), false],
  ["nothing is granted by an empty object", prefer({}), false],
  ["a list grants nothing", prefer(["Ads", "Share"]), false],
  ["a text grants nothing", prefer("all"), false],
  ["true grants nothing", prefer(true), false],
  ["null counts as absent", prefer(null), true],
  ["consent that is null counts as absent", { consent: null }, true],
  ["consent that is not an object grants nothing", { consent: "yes" }, false],
  ["an empty consent enforces nothing", { consent: {} }, true],
  ["no consent object", {}, true],
  ["no context", null, true],
  ["an empty list denies nothing", deny([]), true],
  ["one is denied", deny(["Share"]), false],
  ["another one is denied", deny(["Other"]), true],
  ["or: one of two is denied", deny(["Share"], { resolutionStrategy: "or" }), true],
  ["or: both are denied", deny(["Share", "Ads"], { resolutionStrategy: "or" }), false],
  ["and is the default", deny(["Share"], { resolutionStrategy: "and" }), false],
  ["a text instead of the list denies everything", deny("Ads"), false],
  ["so does an empty text", deny(""), false],
  ["a map", deny({ Ads: true }), false],
  ["a number", deny(0), false],
  ["false", deny(false), false],
  ["a list with something else than text", deny(["Other", 1]), false],
  ["a list in the list", deny([["Ads"]]), false],
  ["null counts as an absent list", deny(null), true],
  ["the other list allows", { consentManagement: { allowedConsentIds: ["Ads", "Share"] } }, true],
  ["the other list allows one", { consentManagement: { allowedConsentIds: ["Ads"] } }, false],
  ["an empty list allows nothing", { consentManagement: { allowedConsentIds: [] } }, false],
  ["a text allows nothing", { consentManagement: { allowedConsentIds: "Ads" } }, false],
  ["both lists: the denied one decides", deny([], { allowedConsentIds: ["Other"] }), true],
  ["both, and one has another shape", deny([], { allowedConsentIds: { Ads: true } }), false],
  ["consentManagement that is a list", { consentManagement: ["Ads"] }, false],
  ["consentManagement that is a text", { consentManagement: "Ads" }, false],
  ["consentManagement that is null", { consentManagement: null }, true],
  ["consentManagement without lists", { consentManagement: { provider: "x" } }, true],
  ["preferences come first", { ...prefer({ Ads: true, Share: true }), ...deny(["Ads"]) }, true],
  ["and RudderStack's if they are null", { ...prefer(null), ...deny(["Ads"]) }, false],
] as const)("%s", (_, context, expected) => {
  expect(hasConsent(RULE, context)).toBe(expected);
});

test("with `any`, one of them is enough, but RudderStack's calls decide themselves", () => {
  const any = { ...RULE, match: "any" } as const;
  expect(hasConsent(any, prefer({ Share: true }))).toBe(true);
  expect(hasConsent(any, prefer({}))).toBe(false);
  expect(hasConsent(any, deny(["Ads"]))).toBe(false);
});

test("required: a call without a consent object has no consent", () => {
  const required = { ...RULE, required: true };
  for (const context of [null, {}, { consent: {} }, prefer(null), deny("Ads"), deny(null)]) {
    expect(hasConsent(required, context)).toBe(false);
  }
  expect(hasConsent(required, deny([]))).toBe(true);
  expect(hasConsent(required, prefer({ Ads: true, Share: true }))).toBe(true);
});

test("own properties alone are categories", () => {
  const odd = { categories: ["constructor", "__proto__"], match: "any", required: false } as const;
  expect(hasConsent(odd, prefer({}))).toBe(false);
  expect(
    hasConsent(odd, JSON.parse('{"consent":{"categoryPreferences":{"__proto__":true}}}')),
  ).toBe(true);
});

const CALL = { type: "identify", userId: "u" };
const with_ = (context: object, integrations = {}) => ({ ...CALL, context, integrations });

test("consent is decided before `integrations`", () => {
  const rules = "consent: [Ads]";
  const granted = prefer({ Ads: true });
  expect(ruledCall(rules, with_(prefer({}), { CRM: true })).reason).toBe("no-consent");
  expect(ruledCall(rules, with_(prefer({}), { CRM: false })).reason).toBe("no-consent");
  expect(ruledCall(rules, with_(granted, { CRM: false })).reason).toBe("named-false");
  expect(ruledCall(rules, with_(granted, { All: false })).reason).toBe("all-false");
  expect(ruledCall(rules, with_(granted)).reason).toBe("by-default");
  expect(ruledCall(rules, with_(prefer({}))).plain).not.toBeNull();
});

test("required consent is that of the configuration, unless the destination says otherwise", () => {
  const required = "consent: { required: true }";
  expect(ruledCall("consent: [Ads]", CALL, required).reason).toBe("no-consent");
  expect(ruledCall("consent: [Ads]", CALL, required).plain).not.toBeNull();
  expect(ruledCall("consent: { categories: [Ads], required: true }", CALL).reason).toBe(
    "no-consent",
  );
  const not = "consent: { categories: [Ads], required: false }";
  expect(ruledCall(not, CALL, required).reason).toBe("by-default");
});
