/**
 * undici keeps an array for the headers of the next answer with each connection. A connection that is
 * used once a second has it in the old generation by then. Left there after the answer, it keeps the
 * headers, and the bytes that they were read from, alive until the whole heap is collected
 * (docs/decisions/0043-a-thousand-members.md). So each request begins with a new one.
 */

import type { Socket } from "node:net";

interface Parser {
  headers: unknown;
}

/** undici's, of the first socket that has one. */
let symbol: symbol | undefined;

/** Does nothing where undici keeps none. */
export function renewHeaders(socket: Socket): void {
  symbol ??= Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === "parser",
  );
  if (symbol === undefined) return;
  const parser = (socket as Socket & Record<symbol, Parser | null | undefined>)[symbol];
  if (Array.isArray(parser?.headers) && parser.headers.length === 0) parser.headers = [];
}
