import fc from "fast-check";
import { expect, test } from "vitest";

import { DEAD_LETTER_HEADER } from "../../../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../../../src/domain/delivery.ts";
import { headerName, headerSlot } from "../../../../src/kafka/wire/record-reader.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

test("a name is what its bytes are in UTF-8, whatever was read before", () => {
  // There are few different bytes, so that names share slots, lengths and words. Some names are not valid UTF-8.
  const byte = fc.constantFrom(0x61, 0x62, 0xc3, 0xa9, 0xff, 0x00);
  const name = fc.oneof(
    fc.uint8Array({ maxLength: 3 }),
    fc.array(byte, { maxLength: 9 }),
    fc.array(byte, { minLength: 63, maxLength: 66 }),
    fc.tuple(byte, byte).map(([one, other]) => [0x61, one, 0x61, 0x61, other, 0x62, 0x62, 0x62]),
    fc.string({ unit: "binary", maxLength: 6 }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.array(name), fc.nat(3), (names, before) => {
      for (const bytes of [...names, ...names]) {
        const buffer = Buffer.concat([Buffer.alloc(before, 0x61), Buffer.from(bytes)]);
        const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
        expect(headerName(view, before, bytes.length)).toBe(buffer.toString("utf8", before));
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});

test("names of ours do not take each other's slots", () => {
  const names = [...Object.values(DELIVERY_HEADER), ...Object.values(DEAD_LETTER_HEADER)];
  const slots = names.map(headerSlot);
  expect(new Set(slots).size).toBe(names.length);
});
