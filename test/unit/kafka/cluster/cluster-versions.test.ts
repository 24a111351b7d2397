// The versions that are sent to a cluster, compared with the versions that it accepts, row by row.

import { expect, test } from "vitest";

import { SENT_REQUESTS } from "../../../../src/kafka/broker/requests.ts";
import { compared } from "../../../../src/kafka/cluster/cluster-versions.ts";

const KEY = 2;

function result(versions: readonly number[], ...brokers: readonly (string | null)[]) {
  const accepted = brokers.map((range) => {
    if (range === null) return {};
    const [minVersion = 0, maxVersion = 0] = range.split("-").map(Number);
    return { [KEY]: { minVersion, maxVersion } };
  });
  const {
    sent,
    accepted: all,
    state,
  } = compared({ apiKey: KEY, apiName: "ListOffsets", versions }, accepted);
  return [sent.join(), all === null ? null : [all.min, all.max], state];
}

test.each([
  ["far above the minimum", [2, 3, 4, 5], ["1-11"], ["5", [1, 11], "ok"]],
  ["at the minimum, with newer ones", [1], ["1-11"], ["1", [1, 11], "near"]],
  ["one above the minimum, with newer ones", [1, 2], ["1-11"], ["2", [1, 11], "near"]],
  ["two above the minimum", [1, 2, 3], ["1-11"], ["3", [1, 11], "ok"]],
  ["at the minimum, and there is none newer", [0], ["0-0"], ["0", [0, 0], "ok"]],
  ["one above the minimum, and there is none newer", [0, 1], ["0-1"], ["1", [0, 1], "ok"]],
  ["the broker is older than we are", [1, 2], ["0-1"], ["1", [0, 1], "ok"]],
  ["the minimum is above", [1, 2], ["3-11"], ["", [3, 11], "none"]],
  ["the maximum is below", [2], ["0-1"], ["", [0, 1], "none"]],
  ["the request is not known", [2], [null], ["", null, "none"]],
  ["one of two brokers raises the minimum", [2, 3], ["0-11", "3-11"], ["3", [3, 11], "near"]],
  ["brokers of two releases", [2, 3, 4], ["0-3", "1-11"], ["3,4", [1, 3], "ok"]],
  ["one of two brokers has none in common", [2, 3], ["0-11", "4-11"], ["", [4, 11], "none"]],
  ["one of two brokers does not know it", [2], ["0-11", null], ["", null, "none"]],
  ["brokers without a common version", [2, 3], ["0-2", "3-4"], ["2,3", null, "ok"]],
  ["no broker has responded", [2], [], ["", null, "none"]],
] as const)("%s", (_, versions, brokers, expected) => {
  expect(result(versions, ...brokers)).toEqual(expected);
});

test("each request is listed once, in the order of the API keys", () => {
  const keys = SENT_REQUESTS.map(({ apiKey }) => apiKey);
  expect(keys).toEqual([...new Set(keys)].sort((one, other) => one - other));
  const range = (name: string) => SENT_REQUESTS.find(({ apiName }) => apiName === name)?.versions;
  expect(range("ListOffsets")).toEqual([2, 3, 4, 5, 6, 7]);
  expect(range("Fetch")).toEqual([11]);
});
