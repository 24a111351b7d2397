import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";
import { expect, test } from "vitest";
import { type Codec, codecOf } from "../../../../src/kafka/wire/codecs.ts";
import { COMPRESSIONS } from "../../../support/build/compressed-batch.ts";

function codec(type: number): Codec {
  const found = codecOf(type);
  if (found === null) throw new Error(`there is no compression ${type}`);
  return found;
}

async function compress(type: number, buffer: Buffer): Promise<Buffer> {
  return (await COMPRESSIONS[type]?.(buffer)) ?? Buffer.alloc(0);
}

const BOUND = 1024 * 1024;
const xerial = (...blocks: readonly Buffer[]) =>
  Buffer.concat([
    Buffer.from("82534e4150505900" + "00000001" + "00000001", "hex"),
    ...blocks.flatMap((block) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(block.length);
      return [length, block];
    }),
  ]);

test.each([1, 2, 3, 4])("compression %i is read", async (type) => {
  const buffer = Buffer.from("0123456789".repeat(50_000));
  const read = await codec(type).decompress(await compress(type, buffer), BOUND);
  expect(read?.equals(buffer)).toBe(true);
});

test.each([
  ["raw", compressSync("hello world")],
  ["in one xerial block", xerial(compressSync("hello world"))],
  [
    "in several xerial blocks",
    xerial(compressSync("hello"), compressSync(" "), compressSync("world")),
  ],
])("snappy is read %s", async (_form, compressed) => {
  expect(`${await codec(2).decompress(compressed, BOUND)}`).toBe("hello world");
});

test("LZ4 frames are read with checksums of blocks and content", async () => {
  const frame = compressFrameSync(Buffer.from("hello world"), {
    contentChecksum: true,
    blockChecksums: true,
  });
  expect(`${await codec(3).decompress(frame, BOUND)}`).toBe("hello world");
});

// Compared with `equals`: a matcher takes seconds for megabytes.
const BLANKS = Buffer.alloc(8 * BOUND);

test.each([
  ["gzip", 1],
  ["snappy", 2],
  ["lz4", 3],
  ["zstd", 4],
])("%s beyond the bound is not inflated at once, but in pieces", async (_name, type) => {
  const compressed = await compress(type, BLANKS);
  expect(compressed.length).toBeLessThan(BOUND / 2);
  expect(await codec(type).decompress(compressed, BOUND)).toBeNull();
  expect(BLANKS.equals(await inflated(type, compressed))).toBe(true);
});

test("snappy in xerial blocks is inflated in pieces, too", async () => {
  const compressed = xerial(compressSync(BLANKS), compressSync(Buffer.from("end")));
  expect(await codec(2).decompress(compressed, BOUND)).toBeNull();
  const whole = Buffer.concat([BLANKS, Buffer.from("end")]);
  expect(whole.equals(await inflated(2, compressed))).toBe(true);
});

async function inflated(type: number, compressed: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of codec(type).pieces(compressed)) {
    expect(piece.length).toBeLessThanOrEqual(512 * 1024);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

test("a cut-off xerial block is an error", async () => {
  const whole = xerial(compressSync("hello world"));
  await expect(codec(2).decompress(whole.subarray(0, whole.length - 1), BOUND)).rejects.toThrow(
    /cut off/,
  );
});
