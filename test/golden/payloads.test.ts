// Bodies byte for byte, as written by hand from docs/webhooks.md#shapes into test/golden/payloads.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { payload } from "../../src/router/destinations/webhook/payload.ts";
import { parseContent } from "../../src/router/stage/content.ts";
import { recordValue } from "../support/build/record-value.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";

const FOLDER = join(import.meta.dirname, "payloads");

interface Golden {
  readonly call: unknown;
  readonly standard: string;
  readonly full: string;
}

const cases = readdirSync(FOLDER).map((file) => {
  return [file, JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Golden] as const;
});

test("every type has its file", () => {
  const types = ["page", "screen", "identify", "track", "alias", "group", "delete"];
  expect(cases.map(([file]) => file)).toEqual(
    expect.arrayContaining(types.map((type) => `${type}.json`)),
  );
});

test.each(cases)("%s", (_file, { call, standard, full }) => {
  const parsed = parseContent(recordValue(JSON.stringify(call)));
  if (parsed.kind === "refused") throw new Error(parsed.error);
  expect(payload(parsed.content, deliveryOf(), "standard")).toBe(standard);
  expect(payload(parsed.content, deliveryOf(), "full")).toBe(full);
});
