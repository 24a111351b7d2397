import fc from "fast-check";
import { expect, test } from "vitest";

import { InterimFilter } from "../../../../src/base/http/response-head.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const HINTS = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";

/** Returns what is passed on if bytes arrive in these pieces. */
function passed(pieces: readonly string[]): string {
  const filter = new InterimFilter();
  let isAwaited = true;
  return pieces
    .map((piece) => {
      if (!isAwaited) return piece;
      const bytes = filter.take(Buffer.from(piece, "latin1"));
      if (bytes !== null) isAwaited = false;
      return bytes?.toString("latin1") ?? "";
    })
    .join("");
}

test.each([
  ["a final response", OK, OK],
  ["one interim response", HINTS + OK, OK],
  ["several", `HTTP/1.0 100 C\r\n\r\n${HINTS}HTTP/1.1 199 X\r\n\r\n${OK}`, OK],
  ["an interim response that ends late", `HTTP/1.1 102 P\r\na: \r\r\n\r\rb\r\n\r\n${OK}`, OK],
  ["line feeds alone", `HTTP/1.1 103 E\nLink: x\n\nHTTP/1.1 100 C\r\n\n${OK}`, OK],
  ["an interim response alone", HINTS, ""],
  ["an interim response without its end", "HTTP/1.1 103 E\r\nLink: x\r\n", ""],
  ["the beginning of a status line", "HTTP/1.1 1", ""],
  ["101, which nobody asked for", "HTTP/1.1 101 S\r\n\r\n", "HTTP/1.1 101 S\r\n\r\n"],
  ["what is no HTTP", "HELLO", "HELLO"],
  ["a body that looks like an interim response", OK + HINTS, OK + HINTS],
])("%s", (_name, bytes, expected) => {
  expect(passed([bytes])).toBe(expected);
});

test("a response in any pieces comes to the same", () => {
  const part = fc.constantFrom(
    HINTS,
    "HTTP/1.1 100 C\r\n\r\n",
    "HTTP/1.1 102 P\n\n",
    OK,
    "\r\n",
    "HTTP",
    "x",
  );
  const response = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(response, fc.array(fc.nat(120)), (bytes, cuts) => {
      const ends = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
      const pieces = ends.slice(1).map((end, index) => bytes.slice(ends[index] ?? 0, end));
      const whole = passed([bytes]);
      const inPieces = passed(pieces);
      // If there are too few bytes to decide, they are kept, and passed on when the rest has arrived.
      expect(inPieces).toBe(whole);
    }),
  );
});

test("what was kept of the last response is forgotten before the next", () => {
  const filter = new InterimFilter();
  expect(filter.take(Buffer.from("HTTP/1.1 103 E\r\nLin"))).toBeNull();
  filter.reset();
  expect(filter.take(Buffer.from(OK))?.toString()).toBe(OK);
});
