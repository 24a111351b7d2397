// docs/comparison.md: each claim about another product has a source, and the page has its day.

import { expect, test } from "vitest";

import { projectTexts } from "../../support/project/tracked-texts.ts";

const PAGE = projectTexts().find(({ path }) => path === "docs/comparison.md")?.text ?? "";
const OTHERS = ["Outpost", "Convoy", "Svix", "RudderStack", "Redpanda Connect", "Kafka Connect"];

/** List entries without a link to outside. */
function withoutSource(text: string): readonly string[] {
  return text
    .split(/\n(?=- )/)
    .slice(1)
    .map((entry) => entry.split("\n\n", 1)[0] ?? "")
    .filter((entry) => !/\]\(https:\/\/[^)]+\)/.test(entry));
}

test.each(OTHERS)(
  "each claim about %s has a source, and so has the better choice its place",
  (name) => {
    const [, section = ""] = `${PAGE}\n## `.split(`\n## ${name}\n`);
    const text = section.split("\n## ", 1)[0] ?? "";
    expect(text.match(/^- /gm)?.length).toBeGreaterThan(3);
    expect(withoutSource(`\n${text}`)).toEqual([]);
    expect(text).toContain("**Better than Switchyard**");
    expect(text).toContain("**Worse**");
  },
);

test("the page says of which day it is", () => {
  expect(PAGE).toMatch(/^As of \d{4}-\d\d-\d\d\./m);
});

test("a claim without a source is found", () => {
  expect(withoutSource("\n- It is fast.\n- It is [here](https://a.example.com).\n\nText.")).toEqual(
    ["- It is fast."],
  );
});
