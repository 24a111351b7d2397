/** Checks whether a Kafka broker responds at an address, with one ApiVersions request. */

import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const API_VERSIONS = 18;
const CORRELATION_ID = 0x53_57_59_44;
const INTERVAL_MS = 100;

/** Resolves with true if a broker responds. Plaintext only. `address` is `host:port`. Never throws. */
export async function responds(address: string, limitMs = 2_000): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = open(address);
  const received: Buffer[] = [];
  socket.setTimeout(limitMs, () => resolve(false));
  socket.on("error", () => resolve(false));
  socket.on("close", () => resolve(false));
  socket.on("connect", () => socket.write(apiVersionsRequest()));
  socket.on("data", (bytes) => {
    received.push(bytes);
    const response = Buffer.concat(received);
    if (response.length >= 8) resolve(response.readInt32BE(4) === CORRELATION_ID);
  });
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

/** Resolves when a broker responds. If the signal aborts before that, rejects with the signal's reason. */
export async function untilResponds(address: string, signal: AbortSignal): Promise<void> {
  while (!(await responds(address))) await sleep(INTERVAL_MS, undefined, { signal });
}

function open(address: string): Socket {
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const port = Number(address.slice(colon + 1));
  return connect({ host, port: Number.isInteger(port) && port < 65_536 ? port : 0 });
}

/** Encodes size, key, version 0, correlation ID and client ID. Every version of Kafka supports this request. */
function apiVersionsRequest(): Buffer {
  const clientId = "switchyard-probe";
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(API_VERSIONS, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(CORRELATION_ID, 8);
  request.writeInt16BE(clientId.length, 12);
  request.write(clientId, 14, "latin1");
  return request;
}
