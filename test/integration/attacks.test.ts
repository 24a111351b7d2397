// The attacks of `npm run attack`, without some similar ones, on the Kafka of the tests.

import { expect, test } from "vitest";
import { ATTACKS, runAttacks } from "../attacks/run-attacks.ts";
import { BROKERS } from "../support/kit/kafka.ts";

/** Each group starts a product, and some start twenty commands, each of which takes seconds on a busy machine. */
const LIMIT_MS = 900_000;

test.each(ATTACKS.filter(({ isCostly }) => isCostly !== true))(
  "$name end as they must",
  { timeout: LIMIT_MS },
  async (attacks) => {
    const rows = await runAttacks(BROKERS, [attacks], { isBrief: true }, () => undefined);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ ok }) => !ok)).toEqual([]);
  },
);
