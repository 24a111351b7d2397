/**
 * The sample receiver of docker-compose.yml. It verifies each signature and says what it got.
 *
 *   /crm     200
 *   /flaky   503 to the first two requests of a call, then 200
 */

import { createServer } from "node:http";

import { parsePayload, verify } from "../../src/sdk/webhooks/index.ts";

const secret = process.env.RECEIVER_SECRET ?? "";
const port = Number(process.env.PORT ?? 3_000);
const FAILURES = 2;
/** By the signature, which is that of the body: the same for each attempt. */
const failed = new Map<string, number>();

const server = createServer((request, response) => {
  if (request.url === "/health") {
    response.writeHead(200).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const { status, said } = answer(request.url ?? "", body, `${request.headers["x-signature"]}`);
    process.stdout.write(`${request.url} ${status} ${said}\n`);
    response.writeHead(status).end();
  });
});

function answer(path: string, body: Buffer, signature: string): { status: number; said: string } {
  if (!verify(body, signature, secret)) return { status: 401, said: "wrong signature" };
  const times = failed.get(signature) ?? 0;
  if (path === "/flaky" && times < FAILURES) {
    failed.set(signature, times + 1);
    return { status: 503, said: `attempt ${times + 1}` };
  }
  failed.delete(signature);
  return { status: 200, said: parsePayload(body).type };
}

server.listen(port, () => process.stdout.write(`listening on ${port}\n`));
process.on("SIGTERM", () => server.close());
