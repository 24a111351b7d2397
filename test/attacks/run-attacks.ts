/** Makes the attacks one after the other, with a separate product for each group. */

import { table } from "../../src/base/words/table.ts";
import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { foreignBatchAttacks } from "./foreign-batches.ts";
import { inflatingAttacks } from "./inflating.ts";
import { ingestAttacks } from "./ingest.ts";
import { innerTopicAttacks } from "./inner-topics.ts";
import { producerAttacks } from "./producers.ts";
import { type Prepared, type Product, startProduct, WRITE_KEY } from "./product.ts";
import { prepareResponses, responseAttacks } from "./responses.ts";
import { secretAttacks, stopAttacks } from "./secrets.ts";

export interface Attacks {
  readonly name: string;
  /** True if the attacks take minutes on a busy machine. They are omitted from `npm test`. */
  readonly isCostly?: boolean;
  /** Starts what the attacks need in addition to the product, such as servers. */
  readonly prepare?: () => Promise<Prepared>;
  readonly run: (product: Product, options: AttackOptions) => Promise<readonly AttackRow[]>;
}

export const ATTACKS: readonly Attacks[] = [
  { name: "producers", run: producerAttacks },
  { name: "foreign batches", run: foreignBatchAttacks },
  { name: "inflating", run: inflatingAttacks, isCostly: true },
  { name: "callers", run: ({ ingestUrl: url }) => ingestAttacks({ url, writeKey: WRITE_KEY }) },
  { name: "responses", prepare: prepareResponses, run: responseAttacks },
  { name: "inner topics", run: innerTopicAttacks },
  { name: "secrets", run: secretAttacks },
  { name: "stop", run: stopAttacks },
];

/** @param say called when a group starts. */
export async function runAttacks(
  brokers: readonly string[],
  attacks: readonly Attacks[],
  options: AttackOptions,
  say: (line: string) => void,
): Promise<readonly AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const { name, run, prepare } of attacks) {
    say(`${name} ...`);
    await using prepared = prepare === undefined ? null : await prepare();
    await using product = await startProduct(brokers, prepared?.destinations);
    for (const row of await run(product, options))
      rows.push({ ...row, name: `${name}: ${row.name}` });
  }
  return rows;
}

export function attackTable(rows: readonly AttackRow[]): string {
  const cells = rows.map(({ name, expected, seen, ok }) => [
    name,
    expected,
    seen,
    ok ? "yes" : "NO",
  ]);
  return table(["NAME", "EXPECTED", "SEEN", "OK"], cells);
}
