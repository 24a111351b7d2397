/**
 * Enables kafkajs' own producer to compress, because Switchyard does not compress batches and registers no codec for
 * that.
 */

import { loadInternal } from "../../../src/kafka/kafkajs/kafkajs.ts";
import { CODECS } from "../../../src/kafka/wire/codecs.ts";
import { COMPRESSIONS } from "../build/compressed-batch.ts";

export function registerCompressions(): void {
  const { CompressionCodecs } = loadInternal("index.js") as {
    readonly CompressionCodecs: Record<number, () => unknown>;
  };
  for (const [type, compress] of Object.entries(COMPRESSIONS)) {
    const codec = {
      ...CODECS[Number(type)],
      compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
    };
    CompressionCodecs[Number(type)] = () => codec;
  }
}
