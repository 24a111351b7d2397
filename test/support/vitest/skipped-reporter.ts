/** Prints the skipped tests with their reasons, such as "needs Java" from `context.skip("needs Java")`. */

import type { Reporter, TestModule } from "vitest/node";

// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its default export.
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        const why = (result.state === "skipped" && result.note) || "no reason was given";
        process.stdout.write(`skipped: ${module.relativeModuleId} > ${test.fullName}: ${why}\n`);
      }
    }
  }
}
