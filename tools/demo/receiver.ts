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
      const messageId = `${request.headers["x-switchyard-message-id"] ?? ""}`;
      const verified =
        rules !== undefined && verify(body, rules.secret, request.headers["x-signature"]);
      const failures = failed.get(path + messageId) ?? 0;
      let status = 200;
      if (!verified) status = 401;
      else if (failures < rules.failures) status = 503;
      failed.set(path + messageId, failures + 1);
      response.writeHead(status).end();
      onReceived({ path, messageId, ...contents(body), status, verified, atMs: Date.now() });
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

function contents(body: Buffer): Pick<Received, "type" | "said"> {
  const call = JSON.parse(body.toString()) as {
    readonly type?: string;
    readonly userId?: string;
    readonly traits?: Readonly<Record<string, unknown>>;
  };
  const traits = Object.entries(call.traits ?? {});
  const [[trait, value] = []] = traits;
  const said = traits.length === 1 ? `${call.userId} ${trait}=${JSON.stringify(value)}` : null;
  return { type: call.type ?? "?", said };
}
