// How endpoints are named, and which endpoint a reference means: the tables of endpoint-name.ts, row by row.

import { expect, test } from "vitest";

import { endpointFor, endpointNames, removedText } from "../../../src/domain/endpoint-name.ts";
import type { EndpointRef } from "../../../src/domain/ids.ts";
import { endpointOf, refsOf, webhookDestination } from "../../support/build/webhook-destination.ts";

const A = "https://user:secret@crm.example.com/hook/token?key=1";
const B = "http://10.1.2.3:8080/b";
const C = "https://c.example.com/hook";
/** The endpoints after their tokens were rotated. */
const A2 = `${A}-rotated`;
const B2 = `${B}?token=2`;

test("the name has the endpoint ID and the host with its port; never a secret of the URL", () => {
  const endpoints = [endpointOf(A), { ...endpointOf(C), id: "eu" }, endpointOf(B)];
  const names = [...endpointNames(webhookDestination({ id: "crm-hook", endpoints })).values()];
  expect(names.map(({ id, name }) => [id, name])).toEqual([
    ["1", "crm-hook[1] crm.example.com"],
    ["eu", "crm-hook[eu] c.example.com"],
    ["3", "crm-hook[3] 10.1.2.3:8080"],
  ]);
  expect(JSON.stringify(names)).not.toContain("secret");
});

/** URLs, some with an ID: `["eu", url]`. */
type List = readonly (string | readonly [id: string, url: string])[];

function listOf(list: List) {
  return list.map((each) =>
    typeof each === "string" ? endpointOf(each) : { ...endpointOf(each[1]), id: each[0] },
  );
}

/** The endpoint to which a delivery for the endpoint at index `at` is sent after a change of the list. */
function sentTo(before: List, at: number, after: List): string | undefined {
  const ref = refsOf({ endpoints: listOf(before) })[at] as EndpointRef;
  return endpointFor(ref, listOf(after))?.url;
}

test.each<[string, List, number, List, string | undefined]>([
  ["with its ID, and another URL", [["eu", A], B], 0, [["eu", A2], B], A2],
  ["with its ID, elsewhere, and another URL", [["eu", A], B], 0, [B2, ["eu", A2]], A2],
  ["with its ID, whose URL another endpoint had", [["eu", A], B], 0, [["eu", B], C], B],
  ["with another ID, and its URL", [["eu", A], B], 0, [B, ["europe", A]], A],
  ["that has an ID now, and its URL", [A, B], 0, [B, ["eu", A]], A],
  ["that moved", [A, B], 0, [B, A], A],
  ["that moved, when others changed", [A, B], 1, [C, B, A2], B],
  ["with another URL", [A, B], 0, [A2, B], A2],
  ["with another URL, as all others", [A, B], 1, [A2, B2], B2],
  ["with another URL, in a longer list", [A, B], 0, [A2, B, C], A2],
  [
    "that has an ID and another URL now",
    [A, B],
    1,
    [
      ["eu", A2],
      ["us", B2],
    ],
    B2,
  ],
  ["that was the only one, with another URL", [A], 0, [C], C],
])("a delivery for an endpoint %s is sent there", (_what, before, at, after, url) => {
  expect(sentTo(before, at, after)).toBe(url);
});

test.each<[string, List, number, List]>([
  ["another has its position", [A, B], 0, [B]],
  ["another has its position, in a list of the same length", [A, B], 0, [B, C]],
  ["another has its position, and got an ID", [A, B], 0, [["us", B]]],
  ["another has its position and another URL, but the same ID", [A, ["us", B]], 0, [["us", B2]]],
  [
    "another has its URL",
    [
      ["eu", A],
      ["us", B],
    ],
    0,
    [["us", A]],
  ],
  ["none has its position", [A, B], 1, [A]],
  ["its ID is not used any more", [["eu", A], B], 0, [["new", C], B]],
])("a delivery for a removed endpoint is sent nowhere: %s", (_what, before, at, after) => {
  expect(sentTo(before, at, after)).toBeUndefined();
});

test.each(["", ",", "0", "-1", "1.5", "6", "eu", "__proto__", "x".repeat(9_999)])(
  "a reference %j from another program means no endpoint",
  (ref) => {
    const found = endpointFor(ref as EndpointRef, listOf([A, B]));
    expect(found).toBeUndefined();
  },
);

test("references that a person writes may be as short as an endpoint ID", () => {
  const list = listOf([A, ["eu", B]]);
  expect(endpointFor("1" as EndpointRef, list)?.url).toBe(A);
  expect(endpointFor("eu" as EndpointRef, list)?.url).toBe(B);
  expect(removedText("eu,0123" as EndpointRef, "crm")).toBe(
    "the endpoint crm[eu] was removed, and the other endpoints got their own deliveries of the call",
  );
});
