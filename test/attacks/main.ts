/**
 * `npm run attack`: every attack that is known here, on a running product, as one table.
 *
 *   npm run attack             all of them
 *   npm run attack -- secrets  only these; several names are possible
 *
 * Exit status 1 when one is not ok, 2 for a name that there is not.
 */

import { startKafka } from "../../tools/kafka/start.ts";
import { ATTACKS, attackTable, runAttacks } from "./run-attacks.ts";

const names = process.argv.slice(2);
const unknown = names.find((name) => !ATTACKS.some((attacks) => attacks.name === name));
if (unknown === undefined) {
  process.exitCode = await attack();
} else {
  const known = ATTACKS.map(({ name }) => name).join(", ");
  process.stderr.write(`"${unknown}" is none of ${known}\n`);
  process.exitCode = 2;
}

async function attack(): Promise<0 | 1> {
  await using kafka = await startKafka({ log: say });
  const chosen = ATTACKS.filter(({ name }) => names.length === 0 || names.includes(name));
  const rows = await runAttacks(kafka.brokers, chosen, { isBrief: false }, say);
  const failed = rows.filter(({ ok }) => !ok).length;
  process.stdout.write(
    `\n${attackTable(rows)}\n${rows.length - failed} of ${rows.length} attacks ended as they must\n`,
  );
  return failed === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
