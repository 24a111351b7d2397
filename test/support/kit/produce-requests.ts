/** Counts the produce requests of this process, where they are written to sockets. */

import { Socket } from "node:net";
import { onTestFinished, vi } from "vitest";

const PRODUCE_API_KEY = 0;

/** Counts from now on, until the end of the test. @param clientId that of the connection. */
export function countProduceRequests(clientId: string): () => number {
  let requests = 0;
  const write = Socket.prototype.write;
  const spy = vi.spyOn(Socket.prototype, "write").mockImplementation(function (
    this: Socket,
    ...given: Parameters<Socket["write"]>
  ) {
    if (isProduceRequest(given[0], clientId)) requests += 1;
    return write.apply(this, given);
  });
  onTestFinished(() => void spy.mockRestore());
  return () => requests;
}

/** A request starts with its size, its key, its version, its number and the client; its body may be written separately. */
function isProduceRequest(chunk: unknown, clientId: string): boolean {
  if (!Buffer.isBuffer(chunk) || chunk.length < 14) return false;
  const client = chunk.subarray(14, 14 + Math.max(0, chunk.readInt16BE(12)));
  return chunk.readInt16BE(4) === PRODUCE_API_KEY && `${client}` === clientId;
}
