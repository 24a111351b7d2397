/**
 * A receiver in a separate process, with keep-alive, which responds to every POST. Prints its port.
 * Then it responds to each line on standard input with one line:
 *
 *   count      the number of requests so far
 *   journal    what was accepted since the last `journal`: a list of message IDs and times
 *   reset      restarts counting: 0
 *   span       how many were accepted (200), and how many were not, with the times of the first and the
 *              last accepted one
 *   sick JSON  from now on, paths in the list "hangs" get no response, and paths in "fails" and message IDs with one
 *              of the prefixes in "failingIds" get 503
 *
 *   node bench/receiver-process.ts [true: journal]
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { Sick } from "./receiver.ts";

const keepsJournal = process.argv[2] === "true";
let responded = 0;
let journal: [messageId: string, atMs: number][] = [];
let span = { accepted: 0, others: 0, firstMs: 0, lastMs: 0 };
let sick: Required<Sick> = { hangs: [], fails: [], failingIds: [] };
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    const path = request.url ?? "";
    if (sick.hangs.includes(path)) {
      span.others += 1;
      return;
    }
    responded += 1;
    const messageId = `${request.headers["x-switchyard-message-id"]}`;
    const isFailing =
      sick.fails.includes(path) || sick.failingIds.some((prefix) => messageId.startsWith(prefix));
    const status = isFailing ? 503 : 200;
    // This has a higher resolution than Date.now().
    const nowMs = performance.timeOrigin + performance.now();
    if (isFailing) span.others += 1;
    else {
      span.accepted += 1;
      span.lastMs = nowMs;
      span.firstMs ||= nowMs;
    }
    if (keepsJournal && status === 200) journal.push([messageId, nowMs]);
    response.writeHead(status, { "content-length": 2 }).end("ok");
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line === "reset") {
    responded = 0;
    span = { accepted: 0, others: 0, firstMs: 0, lastMs: 0 };
  }
  if (line.startsWith("sick ")) sick = JSON.parse(line.slice("sick ".length));
  const reply = line === "journal" ? journal : line === "span" ? span : responded;
  process.stdout.write(`${JSON.stringify(reply)}\n`);
  if (line === "journal") journal = [];
});
lines.on("close", () => process.exit(0));
