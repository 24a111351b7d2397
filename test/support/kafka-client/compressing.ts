/** Gives kafkajs, which can only use gzip by itself, all codecs, in both directions. */

import { CompressionCodecs } from "kafkajs";

import { CODECS } from "../../../src/kafka/wire/codecs.ts";
import { COMPRESSIONS } from "../build/compressed-batch.ts";

export function registerCompressions(): void {
  const codecs = CompressionCodecs as Record<number, () => unknown>;
  for (const [type, compress] of Object.entries(COMPRESSIONS)) {
    const codec = {
      ...CODECS[Number(type)],
      compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
    };
    codecs[Number(type)] = () => codec;
  }
}
