import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";
import { expect, test } from "vitest";

import { CODECS, createCodecs } from "../../src/kafka/codecs.ts";
import { loadInternal } from "../../src/kafka/kafkajs.ts";

const { lookupCodec } = loadInternal("src/protocol/message/compression/index.js") as {
  lookupCodec(type: number): unknown;
};
const BOUND = 1024 * 1024;
const bounded = createCodecs(BOUND);
const xerial = (...blocks: readonly Buffer[]) =>
  Buffer.concat([
    Buffer.from("82534e4150505900" + "00000001" + "00000001", "hex"),
    ...blocks.flatMap((block) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(block.length);
      return [length, block];
    }),
  ]);

test("kafkajs gets every compression that Kafka knows", () => {
  for (const type of [1, 2, 3, 4] as const) expect(lookupCodec(type)).toBe(CODECS[type]);
});

test.each([1, 3, 4] as const)("compression %i reads what it writes", async (type) => {
  const buffer = Buffer.from("0123456789".repeat(50_000));
  expect(await CODECS[type].decompress(await CODECS[type].compress({ buffer }))).toEqual(buffer);
});

test.each([
  ["raw", compressSync("hello world")],
  ["in one xerial block", xerial(compressSync("hello world"))],
  [
    "in several xerial blocks",
    xerial(compressSync("hello"), compressSync(" "), compressSync("world")),
  ],
])("snappy is read %s", async (_form, compressed) => {
  expect(`${await CODECS[2].decompress(compressed)}`).toBe("hello world");
});

test("LZ4 frames are read with checksums of blocks and content", async () => {
  const frame = compressFrameSync(Buffer.from("hello world"), {
    contentChecksum: true,
    blockChecksums: true,
  });
  expect(`${await CODECS[3].decompress(frame)}`).toBe("hello world");
});

test("what inflates beyond the bound is refused", async () => {
  const buffer = Buffer.alloc(8 * BOUND);
  for (const type of [1, 3, 4] as const) {
    const compressed = await bounded[type].compress({ buffer });
    expect(compressed.length).toBeLessThan(BOUND / 10);
    await expect(bounded[type].decompress(compressed)).rejects.toThrow();
  }
  await expect(bounded[2].decompress(compressSync(buffer))).rejects.toThrow(/after decompression/);
  await expect(bounded[2].decompress(xerial(compressSync(buffer)))).rejects.toThrow(/after/);
});

test("a cut-off xerial block is an error", async () => {
  const whole = xerial(compressSync("hello world"));
  await expect(CODECS[2].decompress(whole.subarray(0, whole.length - 1))).rejects.toThrow(
    /cut off/,
  );
});
