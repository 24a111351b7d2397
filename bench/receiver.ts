/**
 * A receiver in a process of its own: keep-alive, answers 200 to every POST after `delayMs`.
 * Prints its port, then the requests it has answered whenever a line comes on standard input.
 *
 *   node bench/receiver.ts [delayMs] [one status in N requests is 503, 0: none]
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const delayMs = Number(process.argv[2] ?? 0);
const failEvery = Number(process.argv[3] ?? 0);
let answered = 0;
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    answered += 1;
    const status = failEvery > 0 && answered % failEvery === 0 ? 503 : 200;
    const answer = () => response.writeHead(status, { "content-length": 2 }).end("ok");
    if (delayMs === 0) answer();
    else setTimeout(answer, delayMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
process.stdin.on("data", () => process.stdout.write(`${answered}\n`));
process.stdin.on("end", () => process.exit(0));
