import { join } from "node:path";
import { expect, test } from "vitest";

import { programCommand } from "../../../../tools/demo/program.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

// `test/local/signals.test.ts` tests the V8 flags.
test("the demonstration starts the program as people do", () => {
  expect(programCommand("/x/switchyard.yaml", ["--stages", "route"])).toEqual([
    process.execPath,
    join(ROOT, "bin/switchyard.js"),
    ...["run", "--config", "/x/switchyard.yaml", "--stages", "route"],
  ]);
});
