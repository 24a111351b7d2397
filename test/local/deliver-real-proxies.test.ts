// Requests through forward proxies that others wrote: with and without credentials, with and without TLS to the proxy, to
// endpoints with http and https, with a client certificate.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { asError } from "../../src/base/runtime/as-error.ts";

import { freePort } from "../../tools/kafka/free-port.ts";
import { issue } from "../support/build/certificates.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";
import { type ProxyStart, REAL_PROXIES, type RealProxy } from "../support/servers/real-proxies.ts";
import { tlsServer } from "../support/servers/tls-server.ts";

const PREPARE_LIMIT_MS = 180_000;
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ca = issue({ name: "CA", isCa: true });
const own = issue({ name: "endpoint", hosts: ["localhost"], by: ca });
const client = issue({ name: "client", by: ca });
const proxyCa = issue({ name: "CA of proxies", isCa: true });
const ofProxy = issue({ name: "proxy", hosts: ["localhost"], by: proxyCa });

/** Returns the port, or the reason why the proxy is not available. */
async function started(proxy: RealProxy, user: string | null, isSecure: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-proxy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  writeFileSync(tls.cert, ofProxy.cert);
  writeFileSync(tls.key, ofProxy.key);
  const port = await freePort();
  const start: ProxyStart = { port, user, password: "p:w=1", tls: isSecure ? tls : null };
  const command = await proxy.prepare(start, folder, AbortSignal.timeout(PREPARE_LIMIT_MS));
  if (typeof command === "string") return command;
  const [file = "", ...args] = command.argv;
  const child = spawn(file, args, { cwd: command.cwd, stdio: "ignore" });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  await vi.waitFor(() => canConnect(port), { timeout: 30_000, interval: 100 });
  return port;
}

async function canConnect(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
}

const CASES = REAL_PROXIES.flatMap((proxy) =>
  [null, "me"].flatMap((user) =>
    [false, true].map((isSecure) => {
      const name = `${proxy.name}, ${user === null ? "no" : "with"} credentials, ${isSecure ? "https" : "http"}`;
      return { name, proxy, user, isSecure };
    }),
  ),
);

test.for(CASES)(
  "$name",
  { timeout: 2 * PREPARE_LIMIT_MS },
  async ({ proxy, user, isSecure }, context) => {
    const port = await started(proxy, user, isSecure);
    if (typeof port === "string") return context.skip(port);
    await using plain = await rawServer((socket) => socket.write(OK));
    await using secure = await tlsServer({
      ...{ cert: own.cert, key: own.key, ca: ca.cert },
      ...{ requestCert: true, rejectUnauthorized: false },
    });
    const scheme = isSecure ? "https" : "http";
    const urlWith = (credentials: string) => `${scheme}://${credentials}localhost:${port}`;
    const clientWith = (credentials: string) =>
      httpClient({
        ...{ ca: ca.cert, proxy: urlWith(credentials), proxyCa: proxyCa.cert },
        destination: { tls: { ca: null, cert: client.cert, key: client.key } },
      });
    await using http = clientWith(user === null ? "" : "me:p%3Aw%3D1@");
    const plainUrl = plain.url.replace("127.0.0.1", "localhost");
    const secureUrl = `https://localhost:${secure.port}`;
    for (const url of [plainUrl, secureUrl, plainUrl, secureUrl, plainUrl, secureUrl]) {
      expect(outcome(await http.post(endpointOf(url))), url).toBe(200);
    }
    // Tunnels are reused.
    expect([plain.connections(), secure.connections()]).toEqual([1, 1]);
    expect(secure.handshakes).toMatchObject([{ subject: "CN=client", serverName: "localhost" }]);
    expect(plain.received.join("")).not.toMatch(/proxy-|via|forwarded/i);
    if (user === null) return;
    const rejected = `the proxy localhost:${port} requires other credentials (407)`;
    await using wrong = clientWith("me:hunter2@");
    await expect(wrong.post(endpointOf(secureUrl))).rejects.toThrow(rejected);
    await using without = clientWith("");
    await expect(without.post(endpointOf(plainUrl))).rejects.toThrow("requires credentials (407)");
  },
);

test.for(REAL_PROXIES)(
  "$name: an endpoint that refuses the connection",
  { timeout: 2 * PREPARE_LIMIT_MS },
  async (proxy, context) => {
    const port = await started(proxy, null, false);
    if (typeof port === "string") return context.skip(port);
    await using http = httpClient({ proxy: `http://localhost:${port}` });
    const url = `http://localhost:${await freePort()}/`;
    const found = http
      .post(endpointOf(url))
      .then(outcome, (error: unknown) => asError(error).message);
    expect(await found).toMatch(proxy.whenRefused);
  },
);
