// The frames of a connection, in pieces of any size.

import { expect, test } from "vitest";

import { encodeHeader, Responses } from "../../../../src/kafka/broker/frames.ts";

function framed(...bodies: readonly Buffer[]): Buffer {
  return Buffer.concat(
    bodies.flatMap((body) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length);
      return [length, body];
    }),
  );
}

function inPieces(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

function readAll(pieces: readonly Buffer[]): Buffer[] {
  const responses = new Responses();
  return pieces.flatMap((piece) => {
    responses.add(piece);
    const found: Buffer[] = [];
    for (let next = responses.next(); next !== null; next = responses.next()) found.push(next);
    return found;
  });
}

const BODIES = [4, 5, 300, 4, 17].map((length, at) => Buffer.alloc(length, at + 1));

test.each([1, 2, 3, 4, 5, 7, 8, 9, 64, 1_000])("responses in pieces of %i bytes", (size) => {
  const found = readAll(inPieces(framed(...BODIES), size));
  expect(found).toEqual(BODIES);
});

test("a response within one piece is a view of it, and any other is copied", () => {
  const bytes = framed(...BODIES);
  const [whole, cut] = readAll([bytes.subarray(0, 12), bytes.subarray(12)]);
  bytes.fill(0);
  expect(whole).toEqual(Buffer.alloc(4));
  expect(cut).toEqual(BODIES[1]);
});

test.each([-1, 3, 256 * 1024 * 1024 + 1])("a length of %i is impossible", (length) => {
  const bytes = Buffer.alloc(20);
  bytes.writeInt32BE(length);
  const text = `a length of ${length} bytes`;
  for (const size of [1, 20]) expect(() => readAll(inPieces(bytes, size))).toThrow(text);
});

test.each([
  [false, "0000001a" + "0003" + "0006" + "00000007" + "0002" + "c3a4"],
  [true, "0000001b" + "0003" + "0006" + "00000007" + "0002" + "c3a4" + "00"],
])("the header of a request; flexible: %s", (isFlexible, hex) => {
  const header = { apiKey: 3, version: 6, correlationId: 7, clientId: "ä", isFlexible };
  expect(encodeHeader(header, 14).toString("hex")).toBe(hex);
});
