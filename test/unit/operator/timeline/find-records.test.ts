// Quick tests never miss a record that a full test would find.

import { expect, test } from "vitest";

import { mayBeCall, mayCarry, placeIn } from "../../../../src/operator/timeline/find-records.ts";

test.each([
  ["0190b6c4-5ae1", '{"messageId":"0190b6c4-5ae1"}', true],
  ["0190b6c4-5ae1", '{"messageId":"0190b6c4-5ae2"}', false],
  ["calls/order-77/é", '{"messageId":"calls\\/order-77\\/\\u00e9"}', true],
  ["calls/order-77/é", '{"messageId":"calls/order-78/é"}', false],
  ['"\\\u0007', '{"messageId":"\\"\\\\\\u0007"}', true],
  ["7", '{"messageId":7}', true],
  ["a/b", '{"messageId":"a\\/b"}', true],
])("%s in %s: %s", (id, value, may) => {
  expect(mayBeCall(id)(Buffer.from(value))).toBe(may);
});

test("no value is no call", () => {
  expect(mayBeCall("m-1")(null)).toBe(false);
  expect(mayBeCall('"')(null)).toBe(false);
});

test("a record whose bytes are not at hand is looked at in any case", () => {
  const look = mayCarry('m"é');
  expect([look(undefined), look(Buffer.from('..m"é..')), look(Buffer.from("m"))]).toEqual([
    true,
    true,
    false,
  ]);
});

test.each([
  ["p.calls/3/1042", { partition: 3, offset: 1042 }],
  ["p.calls/3/", null],
  ["p.calls/3/1042/1", null],
  ["p.calls/-1/2", null],
  ["p.callsX/3/1", null],
  ["other/3/1042", null],
  ["p.calls/3/99999999999999999", null],
])("%s names the place %j", (id, place) => {
  expect(placeIn(id, "p.calls")).toEqual(place);
});
