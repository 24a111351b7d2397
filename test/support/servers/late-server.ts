/** A server that initially lets connections wait, like a distant server. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface LateServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * For this time, the server's queue of connections is full, and it accepts none. The operating system retries after 1
 * s, so a connection takes 1 s.
 */
const LATE_MS = 600;

const PROGRAM = `
const { createServer, connect } = require("node:net");
const { parentPort } = require("node:worker_threads");
const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.on("data", () => socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"));
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  const { port } = server.address();
  for (let count = 0; count < 3; count += 1) connect(port, "127.0.0.1").on("error", () => undefined);
  setImmediate(() => {
    parentPort.postMessage(port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${LATE_MS});
  });
});`;

export async function lateServer(): Promise<LateServer> {
  const worker = new Worker(PROGRAM, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}
