import { expect, test } from "vitest";

import { counted, firstNames, joinEqual } from "../../../../src/base/words/count.ts";

test.each([
  [0, "0 records"],
  [1, "1 record"],
  [2, "2 records"],
  [1_024, "1,024 records"],
])("%i", (count, text) => {
  expect(counted(count, "record")).toBe(text);
});

test("a plural of its own", () => {
  expect(counted(2, "entry", "entries")).toBe("2 entries");
});

test("of many names the first 50, and how many more there are", () => {
  const names = Array.from({ length: 2_050 }, (_, index) => `t${index}`);
  expect(firstNames(names.slice(0, 50))).toEqual(names.slice(0, 50));
  expect(firstNames(names)).toEqual([...names.slice(0, 50), "2,000 more"]);
});

test("equal sentences about many places are one, with the first three places", () => {
  const about = (place: string) => `${place}: it is weak: change it`;
  const all = Array.from({ length: 2_003 }, (_, index) => about(`destinations[${index}]`));
  const first = "destinations[0], destinations[1], destinations[2]";
  expect(joinEqual([...all, "kafka.sasl: other", "kafka.sasl: other"])).toEqual([
    `${first} and 2,000 more: it is weak: change it`,
    "kafka.sasl: other",
  ]);
  expect(joinEqual(all.slice(0, 3))).toEqual([about(first)]);
  const included = ["a.yaml: destinations[0].url", "a.yaml: destinations[1].url"];
  expect(joinEqual(included.map(about))).toEqual([about(included.join(", "))]);
});
