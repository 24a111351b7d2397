import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";

import { BoundedStream, OTHER_MAX_BYTES } from "../../../../src/base/http/bound-response.ts";

/** Reads as undici does, and returns the length of each piece. @param isBody pieces count as parts of the body. */
async function piecesOf(sent: string, isBody: boolean): Promise<readonly number[]> {
  const pieces: number[] = [];
  const stream = new BoundedStream(new Duplex() as Socket);
  stream.on("error", () => undefined);
  stream.on("readable", () => {
    for (let piece: Buffer | null = stream.read(); piece !== null; piece = stream.read()) {
      pieces.push(piece.length);
      if (isBody) stream.wasBody(piece.length);
    }
  });
  for (let at = 0; at < sent.length && !stream.destroyed; at += 16_384) {
    stream.receive(Buffer.from(sent.slice(at, at + 16_384)));
    await new Promise(setImmediate);
  }
  return pieces;
}

test("undici gets small pieces, one after the other", async () => {
  const pieces = await piecesOf("x".repeat(20_000), true);
  expect(pieces).toEqual([4_096, 4_096, 4_096, 4_096, 3_616]);
});

test("the piece that exceeds the limit is the last one", async () => {
  expect(await piecesOf("x".repeat(10 * OTHER_MAX_BYTES), false)).toHaveLength(6);
  // Each line counts 32 bytes more.
  expect(await piecesOf("\n".repeat(10 * OTHER_MAX_BYTES), false)).toEqual([4_096]);
});
