/**
 * The clients of `bench ingest`: each connection sends the next batch when the previous one has got a response.
 * Requests are created in advance, and sockets are used directly, so that the clients take little CPU.
 *
 *   node bench/ingest-load.ts <port> <calls a batch> <connections> <warm-up batches> <batches>
 *
 * Prints `warm` after the warm-up, and at the end the response times: `{"p50Ms","p99Ms"}`.
 */

import { connect } from "node:net";
import { gzipSync } from "node:zlib";

import { BENCH_KEY, benchBatch } from "./ingest-work.ts";
import { quantile } from "./measure.ts";

const [port = "0", calls = "20", connections = "64", warmUp = "0", batches = "0"] =
  process.argv.slice(2);
const DIFFERENT = 200;
const END = Buffer.from('{"success":true}');

const authorization = `Basic ${Buffer.from(`${BENCH_KEY}:`).toString("base64")}`;
const requests = Array.from({ length: DIFFERENT }, (_, number) => {
  const body = gzipSync(JSON.stringify(benchBatch(number * Number(calls), Number(calls))));
  const head = `POST /v1/batch HTTP/1.1\r\nHost: bench\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
});

const warmUpBatches = Number(warmUp);
const all = warmUpBatches + Number(batches);
const tookMs: number[] = [];
let sent = 0;
let responded = 0;

function caller(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
    let sentAt = 0;
    let isLast = false;
    const next = () => {
      const request = requests[sent % DIFFERENT];
      isLast = sent >= all || request === undefined;
      if (request === undefined || isLast) {
        socket.end();
        resolve();
        return;
      }
      sent += 1;
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on("connect", next);
    socket.on("error", reject);
    socket.on("close", () => (isLast ? undefined : reject(new Error("the server closed"))));
    socket.on("data", (chunk) => {
      if (chunk.indexOf(END) < 0) {
        reject(new Error(`response: ${chunk.toString("latin1", 0, 200)}`));
        return;
      }
      responded += 1;
      if (responded > warmUpBatches) tookMs.push(performance.now() - sentAt);
      if (responded === warmUpBatches) process.stdout.write("warm\n");
      next();
    });
  });
}

await Promise.all(Array.from({ length: Number(connections) }, caller));
const result = { p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99) };
process.stdout.write(`${JSON.stringify(result)}\n`);
