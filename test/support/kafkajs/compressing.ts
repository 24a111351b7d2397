/** Lets kafkajs' own producer compress. Switchyard writes nothing compressed and registers no codec for it. */

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
