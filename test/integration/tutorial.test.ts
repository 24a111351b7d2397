// docs/tutorial.md, executed from its first block to its last: files are saved, commands are run unchanged, and the
// output is as shown. Only the ports and the prefix of topics are those of the test.

import { expect, test } from "vitest";

import { uniquePrefix } from "../support/build/prefix.ts";
import { checkoutCopy } from "../support/worlds/checkout-copy.ts";
import { blocksOf, PageReader } from "../support/worlds/page-reader.ts";

test("the tutorial works as written", async () => {
  const blocks = await blocksOf("docs/tutorial.md", ["3000", "8080", "9464"]);
  await using copy = checkoutCopy({ SWITCHYARD_KAFKA_TOPIC_PREFIX: uniquePrefix("tutorial") });
  const reader = new PageReader(copy);
  expect(blocks.length).toBeGreaterThan(20);
  for (const block of blocks) await reader.does(block);
  expect(reader.keepsRunning()).toEqual([]);
});
