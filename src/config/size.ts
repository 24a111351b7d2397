/** Sizes as people write them: `64KiB`, `16MiB`, `1GiB`, `500B`. */

import { type Decoder, decoder, value, wrong } from "./decoder.ts";

const UNIT_BYTES = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 } as const;

/** @returns whole bytes, or null when the text is no size. */
export function parseSize(text: string): number | null {
  const match = /^(\d{1,12}(?:\.\d{1,6})?)(B|KiB|MiB|GiB)$/.exec(text);
  if (match === null) return null;
  const bytes = Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** The shortest form: `64KiB`, `1GiB`. */
export function sizeText(bytes: number): string {
  const units = Object.entries(UNIT_BYTES).toReversed();
  const [unit, size] = units.find(([, unitBytes]) => bytes > 0 && bytes % unitBytes === 0) ?? [
    "B",
    1,
  ];
  return `${bytes / size}${unit}`;
}

/** Bytes from a text with a unit. */
export function size(min: number, max: number): Decoder<number> {
  return decoder({
    expected: `a size with its unit (B, KiB, MiB, GiB), from ${sizeText(min)} to ${sizeText(max)}`,
    unit: "",
    test: (raw) => {
      if (typeof raw === "number" && raw > 0) return wrong(`write ${raw}B, ${raw}KiB or ${raw}MiB`);
      const bytes = typeof raw === "string" ? parseSize(raw) : null;
      return bytes !== null && bytes >= min && bytes <= max ? value(bytes) : wrong();
    },
  });
}
