/**
 * A receiver in a process of its own: keep-alive, answers every POST after `delayMs`, the first
 * ones of each path at once. Prints its port. Then it answers each line on standard input with one
 * line:
 *
 *   count      the requests answered so far
 *   journal    what has been accepted since the last time: a list of message id and instant
 *   instants   when every thousandth request was answered: a list
 *   reset      begins to count again: 0
 *
 *   node bench/receiver.ts [delayMs] [one status in N requests is 503, 0: none] [true: journal]
 *                          [so many of each path are answered at once]
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

const delayMs = Number(process.argv[2] ?? 0);
const failEvery = Number(process.argv[3] ?? 0);
const keepsJournal = process.argv[4] === "true";
const atOnce = Number(process.argv[5] ?? 0);
let answered = 0;
const answeredOf = new Map<string, number>();
let journal: [messageId: string, atMs: number][] = [];
let instants: number[] = [];
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    answered += 1;
    if (answered % 1_000 === 0) instants.push(nowMs());
    const status = failEvery > 0 && answered % failEvery === 0 ? 503 : 200;
    const messageId = request.headers["x-switchyard-message-id"];
    if (keepsJournal && status === 200) journal.push([`${messageId}`, nowMs()]);
    const answer = () => response.writeHead(status, { "content-length": 2 }).end("ok");
    if (delayMs === 0 || isOneOfTheFirst(request.url ?? "")) answer();
    else setTimeout(answer, delayMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line === "reset") {
    answered = 0;
    answeredOf.clear();
    instants = [];
  }
  const said = line === "journal" ? journal : line === "instants" ? instants : answered;
  process.stdout.write(`${JSON.stringify(said)}\n`);
  if (line === "journal") journal = [];
});
lines.on("close", () => process.exit(0));

function isOneOfTheFirst(path: string): boolean {
  const count = (answeredOf.get(path) ?? 0) + 1;
  answeredOf.set(path, count);
  return count <= atOnce;
}

/** Finer than Date.now(). */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
