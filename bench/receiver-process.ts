/**
 * A receiver in a process of its own: keep-alive, answers every POST after `delayMs`. Prints its
 * port. Then it answers each line on standard input with one line:
 *
 *   count      the requests answered so far
 *   journal    what has been accepted since the last time: a list of message id and instant
 *   reset      begins to count again: 0
 *
 *   node bench/receiver-process.ts [delayMs] [one status in N requests is 503, 0: none] [true: journal]
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

const delayMs = Number(process.argv[2] ?? 0);
const failEvery = Number(process.argv[3] ?? 0);
const keepsJournal = process.argv[4] === "true";
let answered = 0;
let journal: [messageId: string, atMs: number][] = [];
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    answered += 1;
    const status = failEvery > 0 && answered % failEvery === 0 ? 503 : 200;
    const messageId = request.headers["x-switchyard-message-id"];
    // Finer than Date.now().
    const nowMs = performance.timeOrigin + performance.now();
    if (keepsJournal && status === 200) journal.push([`${messageId}`, nowMs]);
    const answer = () => response.writeHead(status, { "content-length": 2 }).end("ok");
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line === "reset") answered = 0;
  process.stdout.write(`${JSON.stringify(line === "journal" ? journal : answered)}\n`);
  if (line === "journal") journal = [];
});
lines.on("close", () => process.exit(0));
