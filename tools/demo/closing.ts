/** Prints the end of the demonstration: the table, the verdict, and what to try next. */

import { WRITE_KEY } from "./config.ts";
import type { Journal } from "./journal.ts";
import { heading, say, table, tint } from "./show.ts";

/** Prints the table. Returns true if everything arrived as expected. */
export function closing(journal: Journal): boolean {
  const rows = journal.totals().map((each) => ({
    destination: each.destination,
    "expected calls": `${each.expected - each.ofAudience}`,
    "expected audience calls": `${each.ofAudience}`,
    arrived: `${each.arrived}`,
    "503 responses": `${each.failedAttempts}`,
    retries: `${each.retryCount}`,
    "verified signatures": each.destination === "warehouse" ? "-" : `${each.verified}`,
  }));
  say(`\n${table([Object.keys(rows[0] ?? {}), ...rows.map(Object.values<string>)])}\n`);
  const problems = journal.problems();
  if (problems.length === 0) {
    say(tint("  All calls were delivered. The one invalid line is in the dead letters.", "good"));
    return true;
  }
  for (const problem of problems) say(tint(`  ${problem}`, "bad"));
  return false;
}

export function next(options: {
  readonly configFile: string;
  readonly adminPort: number;
  readonly ingestPort: number;
  readonly consolePort: number;
}): void {
  const { configFile, adminPort, ingestPort, consolePort } = options;
  say(`
${heading("Next")}
  Open the console, where you can pause, retry and replay: http://127.0.0.1:${consolePort}/
  In another terminal, publish your own call, and watch it arrive here:
    echo '{"type":"track","userId":"me","event":"Tried Switchyard"}' \\
      | npm run -s switchyard -- publish --config ${configFile}
  Or send a call over HTTP, as client libraries do:
    curl -u ${WRITE_KEY}: http://127.0.0.1:${ingestPort}/v1/track -d '{"userId":"me","event":"Tried HTTP"}'
  Show where calls would go, and the exact requests, without sending anything:
    npm run -s switchyard -- explain --config ${configFile} examples/calls.jsonl
  Metrics: http://127.0.0.1:${adminPort}/metrics   Health: http://127.0.0.1:${adminPort}/readyz
  Configuration of this demo: ${configFile}

  Press Ctrl-C to stop everything.`);
}
