// docs/tutorial.md, carried out from its first block to its last: files saved, commands run as they
// are written, output as it is shown. Only ports, and the prefix of topics, are the test's own.

import { expect, test } from "vitest";

import { uniquePrefix } from "../support/build/prefix.ts";
import { checkoutCopy } from "../support/worlds/checkout-copy.ts";
import { blocksOf, PageReader } from "../support/worlds/page-reader.ts";

test("the tutorial works as written", { timeout: 300_000 }, async () => {
  const blocks = await blocksOf("docs/tutorial.md", ["3000", "8080", "9464"]);
  await using copy = checkoutCopy({ SWITCHYARD_KAFKA_TOPIC_PREFIX: uniquePrefix("tutorial") });
  const reader = new PageReader(copy);
  expect(blocks.length).toBeGreaterThan(20);
  for (const block of blocks) await reader.does(block);
  expect(reader.keepsRunning()).toEqual([]);
});
