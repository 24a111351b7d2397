import { join } from "node:path";
import { expect, test } from "vitest";

import { programCommand } from "../../../../tools/demo/program.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

// What this file does about V8's flags is shown by `test/local/signals.test.ts`.
test("the demonstration starts the program as people do", () => {
  expect(programCommand("/x/switchyard.yaml", ["--stages", "route"])).toEqual([
    process.execPath,
    join(ROOT, "bin/switchyard.js"),
    ...["run", "--config", "/x/switchyard.yaml", "--stages", "route"],
  ]);
});
