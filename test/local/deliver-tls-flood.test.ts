// Endless messages of TLS itself: no reader gets them, and the connection is closed.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";

import { WIRE_MAX_BYTES } from "../../src/base/http/bound-response.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { issue } from "../support/build/certificates.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { tlsServer } from "../support/servers/tls-server.ts";

const ca = issue({ name: "an authority", isCa: true });
const { cert, key } = issue({ name: "hostile", hosts: ["127.0.0.1"], by: ca });
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** Starts a server that reads requests and responds to none. */
async function startOpenssl(port: number, args: readonly string[]): Promise<ChildProcess> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-openssl-"));
  const [certFile, keyFile] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const argv = ["s_server", "-accept", `${port}`, "-cert", certFile, "-key", keyFile, ...args];
  const child = spawn("openssl", argv, { stdio: ["pipe", "ignore", "ignore"] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "close");
    rmSync(directory, { recursive: true });
  });
  const isThere = () =>
    new Promise<boolean>((resolve) => {
      const socket = connectTcp(port, "127.0.0.1");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  await expect.poll(isThere).toBe(true);
  return child;
}

test.skipIf(!hasOpenssl)("session tickets without end (needs openssl)", async () => {
  const port = await freePort();
  await startOpenssl(port, ["-tls1_3", "-num_tickets", "1000000"]);
  await using http = httpClient({ timeoutMs: 60_000, ca: ca.cert });
  const result = await http.post(endpointOf(`https://127.0.0.1:${port}/`));
  expect(outcome(result)).toBe("protocol");
});

test("the bytes that a TCP socket counts include those of TLS", async () => {
  await using server = await tlsServer({ cert, key });
  const tcp = connectTcp(server.port, "127.0.0.1");
  await once(tcp, "connect");
  const tls = connectTls({ socket: tcp, host: "127.0.0.1", ca: ca.cert });
  await once(tls, "secureConnect");
  expect(tcp.bytesRead).toBeGreaterThan(cert.length / 2);
  expect(tcp.bytesRead).toBeLessThan(WIRE_MAX_BYTES);
  tls.destroy();
});
