// docs/change-configuration.md#procedures, executed from its first block to its last, unchanged. Only the ports, the brokers and the prefix
// of topics are those of the test.

import { expect, test } from "vitest";

import { uniquePrefix } from "../support/build/prefix.ts";
import { checkoutCopy } from "../support/worlds/checkout-copy.ts";
import { blocksOf, PageReader } from "../support/worlds/page-reader.ts";

test("each procedure works as documented", async () => {
  const ports = ["3000", "8080", "9464", "9465", "9466"];
  const blocks = await blocksOf("docs/change-configuration.md", ports);
  await using copy = checkoutCopy({
    PATH: `./path:${process.env.PATH}`,
    SWITCHYARD_CONFIG: "switchyard.yaml",
    SWITCHYARD_KAFKA_TOPIC_PREFIX: uniquePrefix("procedures"),
  });
  await copy.run("mkdir path; ln -s ../bin/switchyard.js path/switchyard");
  const reader = new PageReader(copy);
  expect(blocks.length).toBeGreaterThan(40);
  for (const block of blocks) await reader.does(block);
  expect(reader.keepsRunning()).toEqual([]);
});
