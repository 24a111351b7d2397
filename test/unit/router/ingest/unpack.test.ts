// Gzip that decompresses to too many bytes is rejected. Allowed bodies are decompressed completely, at once or in
// pieces.

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { inTurn } from "../../../../src/base/runtime/in-turn.ts";
import { maxInFlightBytes } from "../../../../src/router/ingest/limits.ts";
import { ONE_GO_BYTES, unpack } from "../../../../src/router/ingest/unpack.ts";

const KIB = 1_024;
const BODY_MAX_BYTES = 10 * KIB * KIB;

/** Returns text that can hardly be compressed. */
function texts(bytes: number): string {
  let [text, state] = ["", 1];
  while (text.length < bytes) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text.slice(0, bytes);
}

async function unpacked(packed: Buffer, maxBytes = BODY_MAX_BYTES, room = BODY_MAX_BYTES * 3) {
  const inFlight = maxInFlightBytes(room);
  const [hold, looks] = [inFlight.open(), [] as number[]];
  hold.grow(packed.length);
  const look = (beginning: Buffer) => {
    looks.push(beginning.length);
    return null;
  };
  const result = await unpack(packed, { maxBytes, hold, look, inTurn: inTurn() });
  const seen = result.kind === "body" ? `${result.bytes}` : result.code;
  return { seen, looks, inFlight: inFlight.total() };
}

test.each([
  ["nothing", ""],
  ["little", "a"],
  ["as much as goes in one go", texts(ONE_GO_BYTES)],
  ["a byte more", texts(ONE_GO_BYTES + 1)],
  ["much", texts(1_000_000)],
])("%s is unpacked, and only that is held", async (_, text) => {
  expect(await unpacked(gzipSync(text))).toMatchObject({ seen: text, inFlight: text.length });
});

test("several parts are one body, also where the last is the smallest", async () => {
  const text = texts(300_000);
  const parts = [gzipSync(text), gzipSync("x"), gzipSync("")];
  expect((await unpacked(Buffer.concat(parts))).seen).toBe(`${text}x`);
});

test.each([
  ["stated", gzipSync(Buffer.alloc(BODY_MAX_BYTES + 1, " ")), "body-too-large"],
  ["a hundred times more, stated", gzipSync(Buffer.alloc(ONE_GO_BYTES * 2, " ")), "body-too-large"],
  [
    "not stated",
    Buffer.concat([gzipSync(Buffer.alloc(BODY_MAX_BYTES, " ")), gzipSync("x")]),
    "body-too-large",
  ],
  ["no gzip", Buffer.from("{}"), "invalid-gzip"],
  ["cut short", gzipSync(texts(1_000)).subarray(0, -9), "invalid-gzip"],
  ["cut short, and large", gzipSync(texts(400_000)).subarray(0, -300), "invalid-gzip"],
])("%s: %s", async (_, packed, code) => {
  expect((await unpacked(packed)).seen).toBe(code);
});

test("a body over the limit of bodies is rejected, however badly it packs", async () => {
  expect((await unpacked(gzipSync(texts(300_000)), 200_000)).seen).toBe("body-too-large");
});

test("without room it is rejected, in one go and in pieces", async () => {
  for (const bytes of [50_000, 500_000]) {
    const packed = gzipSync(texts(bytes));
    const other = maxInFlightBytes(packed.length + 10);
    other.open().grow(1);
    const hold = other.open();
    hold.grow(packed.length);
    const unpacking = { maxBytes: BODY_MAX_BYTES, hold, look: () => null, inTurn: inTurn() };
    expect(await unpack(packed, unpacking)).toMatchObject({ code: "overloaded" });
  }
});

test("the beginning of a large body is looked at, and may end it", async () => {
  const { looks } = await unpacked(gzipSync(texts(400_000)));
  expect(looks.at(-1)).toBe(65_536);
  const hold = maxInFlightBytes(BODY_MAX_BYTES).open();
  const look = () => ({ kind: "refused", code: "body-too-large", detail: "seen" }) as const;
  const unpacking = { maxBytes: BODY_MAX_BYTES, hold, look, inTurn: inTurn() };
  expect(await unpack(gzipSync(texts(400_000)), unpacking)).toMatchObject({ detail: "seen" });
});
