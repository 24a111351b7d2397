// A command that is itself busy does not report a process as unreachable.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { inTime as inTimeOfKafka } from "../../src/kafka/cluster/brokers.ts";
import { ask, reasonOf } from "../../src/operator/connect/admin-port.ts";
import { inTime } from "../../src/operator/look/keep-connected.ts";

/**
 * A server in a separate thread: it responds to `/responses` while this thread is blocked, and never to anything else.
 */
const SERVER = `
const { createServer } = require("node:http");
const { parentPort } = require("node:worker_threads");
const server = createServer((request, response) => {
  parentPort.postMessage("asked");
  if (request.url === "/responses") setTimeout(() => response.end("well"), 30);
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

async function startServer() {
  const worker = new Worker(SERVER, { eval: true });
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, "message")) as [number];
  return { address: `127.0.0.1:${port}`, asked: once(worker, "message") };
}

/** Blocks the thread, like parsing a large response, or a machine without free CPU. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const never = new AbortController().signal;

test("a process that responds in 30 ms has responded, also if the command was blocked for 4 s", async () => {
  const { address, asked } = await startServer();
  const response = ask(address, "/responses", never);
  await asked;
  block(4_000);
  await expect(response).resolves.toEqual({ status: 200, body: "well" });
});

test("a process that does not respond is said not to", async () => {
  const { address } = await startServer();
  const failed = await ask(address, "/never", never).catch((error: unknown) =>
    reasonOf(error as Error),
  );
  expect(failed).toBe("no response within 3 s");
});

test.each([
  ["a page of Kafka", (work: Promise<string>) => inTime(work, never, 500)],
  ["a question to a broker", (work: Promise<string>) => inTimeOfKafka(work, 500)],
])("the same for %s", async (_name, limited) => {
  const { address, asked } = await startServer();
  const work = fetch(`http://${address}/responses`).then((response) => response.text());
  const response = limited(work);
  await asked;
  block(1_500);
  await expect(response).resolves.toBe("well");
  await expect(limited(new Promise(() => undefined))).rejects.toThrow("no response within 0.5 s");
});
