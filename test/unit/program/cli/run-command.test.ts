// The warnings of `run` before it starts.

import { expect, test } from "vitest";

import { warnOfKeys } from "../../../../src/program/cli/run-command.ts";
import { config, SMALL } from "../../../support/build/config-source.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

const WITHOUT = SMALL.replace("writeKey: k1, ", "");

test.each([
  [SMALL, ""],
  [
    WITHOUT,
    "warning: the source web has no write key, so the ingest stage rejects calls from it\n",
  ],
  [
    WITHOUT.replace("destinations:\n", "  - { id: ios }\ndestinations:\n"),
    "warning: the sources web, ios have no write keys, so the ingest stage rejects calls from " +
      "them\n",
  ],
])("sources that ingest cannot know %#", (yaml, warning) => {
  const shell = fakeShell();
  warnOfKeys(config(yaml), shell);
  expect(shell.errors()).toBe(warning);
});
