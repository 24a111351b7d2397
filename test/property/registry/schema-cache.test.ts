import fc from "fast-check";
import { test } from "vitest";

import type { KnownSchema } from "../../../src/domain/known-schemas.ts";
import { SchemaCache } from "../../../src/registry/schema-cache.ts";

const LIMITS = { schemas: 8, characters: 100 };
const FOR_EVER = Number.POSITIVE_INFINITY;

function responseOf(ref: number, characters: number) {
  const known: KnownSchema = { kind: "refused", reason: "undecodable", error: `${ref}` };
  return { known, characters, untilMs: FOR_EVER };
}

const step = fc.record({ ref: fc.nat(20), characters: fc.nat(120), isPut: fc.boolean() });

test("never more than there is room for; the one put last is there, and no response is another's", () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const cache = new SchemaCache(LIMITS);
      const sizes = new Map<number, number>();
      for (const { ref, characters, isPut } of steps) {
        if (isPut) {
          sizes.set(ref, characters);
          cache.put(ref, responseOf(ref, characters));
        }
        const found = cache.get(ref, () => 0);
        if (isPut && found === null) return false;
        if (found?.kind === "refused" && found.error !== `${ref}`) return false;
        if (cache.size > LIMITS.schemas) return false;
      }
      const there = [...sizes.keys()].filter((ref) => cache.get(ref, () => 0) !== null);
      const characters = there.reduce((sum, ref) => sum + (sizes.get(ref) ?? 0), 0);
      const largest = Math.max(0, ...sizes.values());
      // Each of the two generations has half of the room, or contains one larger entry.
      return characters <= 2 * Math.max(LIMITS.characters / 2, largest);
    }),
  );
});

test("the ones used last stay: a quarter of the room at the least", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), fc.nat(1_000), (others, ref) => {
      const cache = new SchemaCache(LIMITS);
      cache.put(ref, responseOf(ref, 1));
      return others.every((other) => {
        cache.put(other, responseOf(other, 1));
        return cache.get(ref, () => 0) !== null;
      });
    }),
  );
});
