import { constants, zstdCompressSync } from "node:zlib";
import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";
import { expect, test } from "vitest";
import { type Codec, codecOf } from "../../../../src/kafka/wire/codecs.ts";
import { varint } from "../../../../src/kafka/wire/kept-records.ts";
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

test("snappy may repeat bytes from any distance within its block", async () => {
  const literal = Buffer.concat([Buffer.from("start"), Buffer.alloc(3 * BOUND, "-")]);
  // `varint` doubles a positive number.
  const length = varint((literal.length + 5) / 2);
  const literalTag = Buffer.alloc(5, 0xfc);
  literalTag.writeUInt32LE(literal.length - 1, 1);
  const copyTag = Buffer.alloc(5, (4 << 2) | 3);
  copyTag.writeUInt32LE(literal.length, 1);
  const block = Buffer.concat([length, literalTag, literal, copyTag]);
  const whole = Buffer.concat([literal, Buffer.from("start")]);
  expect((await codec(2).decompress(block, 4 * BOUND))?.equals(whole)).toBe(true);
  expect(whole.equals(await inflated(2, block))).toBe(true);
});

async function inflated(type: number, compressed: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of codec(type).pieces(compressed)) {
    expect(piece.length).toBeLessThanOrEqual(512 * 1024);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const skippable = (bytes: number) => {
  const frame = Buffer.alloc(8 + bytes, 0x5a);
  frame.writeUInt32LE(0x184d2a5a, 0);
  frame.writeUInt32LE(bytes, 4);
  return frame;
};
const checked = (text: string) =>
  compressFrameSync(Buffer.from(text), { contentChecksum: true, blockChecksums: true });
const zstd = (text: string) =>
  zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
const PARTS = ["hello ", "", "w", "x".repeat(300_000), "orld"] as const;
const frames = async (type: number) =>
  Promise.all(PARTS.map((part) => compress(type, Buffer.from(part))));

test.each([
  ["several gzip members", 1, async () => Buffer.concat(await frames(1))],
  ["several xerial streams", 2, async () => Buffer.concat((await frames(2)).map((b) => xerial(b)))],
  ["several LZ4 frames", 3, async () => Buffer.concat(await frames(3))],
  ["several LZ4 frames with checksums", 3, async () => Buffer.concat(PARTS.map(checked))],
  [
    "LZ4 frames between skippable ones",
    3,
    async () => Buffer.concat([skippable(9), ...(await frames(3)), skippable(0)]),
  ],
  ["several zstd frames", 4, async () => Buffer.concat(await frames(4))],
  ["several zstd frames with checksums", 4, async () => Buffer.concat(PARTS.map(zstd))],
  [
    "zstd frames between skippable ones",
    4,
    async () => Buffer.concat((await frames(4)).flatMap((frame) => [skippable(9), frame])),
  ],
  [
    "one zstd frame before a skippable one",
    4,
    async () => Buffer.concat([await compress(4, Buffer.from(PARTS.join(""))), skippable(1)]),
  ],
])("%s are read to the end, at once and in pieces", async (_name, type, created) => {
  const buffer = await created();
  const whole = Buffer.from(PARTS.join(""));
  expect((await codec(type).decompress(buffer, BOUND))?.equals(whole)).toBe(true);
  expect(whole.equals(await inflated(type, buffer))).toBe(true);
  expect(await codec(type).decompress(buffer, whole.length - 1)).toBeNull();
});

test.each([3, 4])("compression %i: a cut-off frame and other bytes are errors", async (type) => {
  const frame = await compress(type, Buffer.from("hello world ".repeat(9)));
  const cut = Buffer.concat([frame, frame.subarray(0, frame.length - 9)]);
  await expect(codec(type).decompress(cut, BOUND)).rejects.toThrow(/cut off/);
  const other = Buffer.concat([frame, Buffer.from("other bytes")]);
  await expect(codec(type).decompress(other, BOUND)).rejects.toThrow(/frame was expected at byte/);
  await expect(inflated(type, other)).rejects.toThrow(/frame was expected at byte/);
});

test("a cut-off xerial block is an error", async () => {
  const whole = xerial(compressSync("hello world"));
  await expect(codec(2).decompress(whole.subarray(0, whole.length - 1), BOUND)).rejects.toThrow(
    /cut off/,
  );
});
