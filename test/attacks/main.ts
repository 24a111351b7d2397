/**
 * `npm run attack`: makes every known attack on a running product, and prints one table.
 *
 *   npm run attack             all of them
 *   npm run attack -- secrets  only these; several names are possible
 *
 * Exit status 1 if an attack is not ok, 2 for an unknown name.
 */

import { startKafka } from "../../tools/kafka/start.ts";
import { oneOf, printRows, runScript, say } from "../support/script/script.ts";
import { ATTACKS, attackTable, runAttacks } from "./run-attacks.ts";

await runScript(async () => {
  const names = process.argv.slice(2);
  const chosen = names.length === 0 ? ATTACKS : names.map((name) => oneOf(ATTACKS, name, "attack"));
  await using kafka = await startKafka({ log: say });
  const rows = await runAttacks(kafka.brokers, chosen, { isBrief: false }, say);
  return printRows(attackTable(rows), rows, "attacks ended as they must");
});
