/** Reads what a page sends, bounded. */

import type { IncomingMessage } from "node:http";

/** Null: it is larger than that. The rest is not read then. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += (piece as Buffer).length;
    if (size > maxBytes) return null;
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}
