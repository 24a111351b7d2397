/**
 * The receiving side of the demonstration: a webhook endpoint as a stranger would write it, from
 * docs/webhooks.md alone. It imports nothing of Switchyard's, so that its verification of the
 * signature proves something.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly path: string;
  readonly messageId: string;
  readonly type: string;
  /** For an identify call with one trait: the user, the trait and its value; otherwise null. */
  readonly said: string | null;
  readonly status: number;
  readonly verified: boolean;
  /** Number of calls in the same request. */
  readonly together: number;
  readonly atMs: number;
}

export interface Receiver extends AsyncDisposable {
  readonly url: (path: string) => string;
}

export interface ReceiverPath {
  readonly secret: string;
  /** How many requests for a call get the response 503 before one is accepted. */
  readonly failures: number;
}

/** Listens on a free loopback port until disposed. `onReceived` is called after each response. */
export async function startReceiver(
  paths: Readonly<Record<string, ReceiverPath>>,
  onReceived: (received: Received) => void,
): Promise<Receiver> {
  const failed = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "/";
      const rules = paths[path];
      const body = Buffer.concat(chunks);
      const ids = `${request.headers["x-switchyard-message-id"] ?? ""}`.split(",");
      const verified =
        rules !== undefined && verify(body, rules.secret, request.headers["x-signature"]);
      const failures = Math.max(...ids.map((id) => failed.get(path + id) ?? 0));
      let status = 200;
      if (!verified) status = 401;
      else if (failures < rules.failures) status = 503;
      for (const id of ids) failed.set(path + id, failures + 1);
      response.writeHead(status).end();
      // A batch has a list of calls, and their IDs in the same order.
      const calls = [JSON.parse(body.toString()) as Call | Call[]].flat();
      for (const [at, call] of calls.entries()) {
        const messageId = ids[at] ?? "";
        const together = calls.length;
        const atMs = Date.now();
        onReceived({ path, messageId, ...contents(call), status, verified, together, atMs });
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function verify(body: Buffer, secret: string, signature: unknown): boolean {
  const expected = createHmac("sha1", secret).update(body).digest();
  const given = Buffer.from(typeof signature === "string" ? signature : "", "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

interface Call {
  readonly type?: string;
  readonly userId?: string;
  readonly traits?: Readonly<Record<string, unknown>>;
}

function contents(call: Call): Pick<Received, "type" | "said"> {
  const traits = Object.entries(call.traits ?? {});
  const [[trait, value] = []] = traits;
  const said = traits.length === 1 ? `${call.userId} ${trait}=${JSON.stringify(value)}` : null;
  return { type: call.type ?? "?", said };
}
