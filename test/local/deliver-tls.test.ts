// Which certificates are accepted, and that nothing is sent to servers with other certificates.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext, type TlsOptions } from "node:tls";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openSocket, type SocketOptions, type TlsSession } from "../../src/base/http/connect.ts";
import { systemResolve } from "../../src/base/http/lookup.ts";
import { secureContext, sharedContexts } from "../../src/base/http/tls.ts";
import { judge } from "../../src/router/destinations/webhook/judge.ts";
import { type Certificate, issue } from "../support/build/certificates.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import {
  type ClientOptions,
  httpClient,
  httpProcess,
  outcome,
} from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";
import { type TlsServer, tlsServer } from "../support/servers/tls-server.ts";

const HOSTS = ["localhost", "127.0.0.1"];
const YEAR_MS = 365 * 86_400_000;
const past = (years: number) => new Date(Date.now() - years * YEAR_MS);

const ca = issue({ name: "private CA", isCa: true });
const otherCa = issue({ name: "other CA", isCa: true });
const intermediate = issue({ name: "intermediate", isCa: true, by: ca });
const good = issue({ name: "good", hosts: HOSTS, by: ca });
const selfSigned = issue({ name: "self-signed", hosts: HOSTS });

function serverWith({ cert, key }: Certificate, more: TlsOptions = {}) {
  return tlsServer({ cert, key, ...more });
}

function post(server: TlsServer, options: ClientOptions, host = "localhost") {
  return using(httpClient({ ca: ca.cert, ...options }), (http) =>
    http.post(endpointOf(`https://${host}:${server.port}/hook`)),
  );
}

async function using<T extends AsyncDisposable, R>(resource: T, use: (resource: T) => Promise<R>) {
  await using disposed = resource;
  return await use(disposed);
}

test.each(["localhost", "127.0.0.1"])(
  "a good certificate for %s: the request goes",
  async (host) => {
    await using server = await serverWith(good);
    expect(outcome(await post(server, {}, host))).toBe(200);
    expect(server.received()).toContain("POST /hook HTTP/1.1");
  },
);

test("of a server that is many hosts, the certificate of the endpoint's own is asked for", async () => {
  const other = issue({ name: "other host", hosts: ["other.example.com"], by: ca });
  const byName: Record<string, Certificate> = { localhost: good };
  await using server = await serverWith(other, {
    SNICallback: (name, done) => done(null, createSecureContext(byName[name] ?? other)),
  });
  expect(outcome(await post(server, {}))).toBe(200);
});

test.each([
  ["localhost", "localhost"],
  ["127.0.0.1", null],
])("TLS to %s says the name %j", async (host, serverName) => {
  await using server = await serverWith(good);
  expect(outcome(await post(server, {}, host))).toBe(200);
  expect(server.handshakes).toMatchObject([{ serverName }]);
});

test("destinations that name the same files share what is made of them", () => {
  const contextOf = sharedContexts();
  const files = { ca: ca.cert, cert: good.cert, key: good.key };
  const first = contextOf(files);
  const same = contextOf({ ...files });
  expect(same()).toBe(first());
  expect(contextOf({ ...files, cert: null, key: null })()).not.toBe(first());
});

test("a chain with an intermediate that the endpoint sends along is good", async () => {
  const leaf = issue({ name: "leaf", hosts: HOSTS, by: intermediate });
  await using server = await serverWith(leaf, { cert: leaf.cert + intermediate.cert });
  expect(outcome(await post(server, {}))).toBe(200);
});

const expired = issue({ name: "expired", hosts: HOSTS, by: ca, from: past(2), until: past(1) });
const unborn = issue({ name: "unborn", hosts: HOSTS, by: ca, from: past(-1), until: past(-2) });
const elsewhere = issue({ name: "elsewhere", hosts: ["example.com", "127.0.0.2"], by: ca });
const unknown = issue({ name: "unknown", hosts: HOSTS, by: otherCa });
const tooDeep = issue({ name: "deep", hosts: HOSTS, by: intermediate });
const byLeaf = issue({ name: "by a leaf", hosts: HOSTS, by: good });

test.each<[string, string, TlsOptions, ClientOptions]>([
  ["self-signed", "tls-self-signed", selfSigned, {}],
  ["self-signed, no CA configured", "tls-self-signed", selfSigned, { ca: null }],
  ["self-signed and listed as the CA", "tls-self-signed", selfSigned, { ca: selfSigned.cert }],
  [
    "self-signed and listed, of a server whose sessions come before its certificate is judged",
    "tls-self-signed",
    { ...selfSigned, maxVersion: "TLSv1.2" },
    { ca: selfSigned.cert },
  ],
  [
    "self-signed and listed among the destination's files",
    "tls-self-signed",
    selfSigned,
    { destination: { tls: { ca: selfSigned.cert, cert: null, key: null } } },
  ],
  ["a CA's own certificate", "tls-self-signed", issue({ name: "x", hosts: HOSTS, isCa: true }), {}],
  ["expired", "tls-expired", expired, {}],
  ["not valid yet", "tls-expired", unborn, {}],
  ["for another host", "tls-wrong-host", elsewhere, {}],
  ["of an unknown CA", "tls-unknown-ca", unknown, {}],
  ["of a private CA that is not configured", "tls-unknown-ca", good, { ca: null }],
  [
    "of an unknown CA that is sent along",
    "tls-unknown-ca",
    { ...unknown, cert: unknown.cert + otherCa.cert },
    {},
  ],
  ["whose intermediate is missing", "tls-unknown-ca", tooDeep, {}],
  [
    "signed by a certificate that is no CA",
    "tls",
    { ...byLeaf, cert: byLeaf.cert + good.cert },
    {},
  ],
  [
    "good, on a server that knows TLS 1.1 at most",
    "tls-protocol",
    { ...good, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
    {},
  ],
])("a certificate %s: no request byte leaves, and it counts as no response", async (...row) => {
  const [, cause, { cert, key, ...more }, options] = row;
  await using server = await tlsServer({ ...more, cert, key } as TlsOptions);
  await using http = httpClient({ ca: ca.cert, ...options });
  const endpoint = endpointOf(`https://localhost:${server.port}/hook`);
  // The second time, the session of the first connection could be resumed.
  for (let count = 1; count <= 2; count += 1) {
    const result = await http.post(endpoint);
    expect(result).toMatchObject({ kind: "no-response", cause });
    expect(judge(result, 0)).toMatchObject({ kind: "retry" });
    expect(result.kind === "no-response" && result.cause).toMatch(/^tls/);
  }
  await expect.poll(server.open).toBe(0);
  expect(server.connections()).toBe(2);
  expect(server.received()).toBe("");
});

test("an endpoint that speaks no TLS gets nothing of the request", async () => {
  await using server = await rawServer((socket) => socket.write("HTTP/1.1 400 Bad\r\n\r\n"));
  await using http = httpClient();
  const endpoint = endpointOf(server.url.replace("http:", "https:"));
  expect(outcome(await http.post(endpoint))).toBe("tls");
  expect(server.received[0]).not.toContain("POST");
});

test.each<[string, ClientOptions]>([
  ["delivery.ca", { ca: otherCa.cert + ca.cert }],
  ["the destination's tls.ca", { destination: { tls: { ca: ca.cert, cert: null, key: null } } }],
  ["both", { ca: otherCa.cert, destination: { tls: { ca: ca.cert, cert: null, key: null } } }],
])("a private CA in %s is good", async (_name, options) => {
  await using server = await serverWith(good);
  expect(outcome(await post(server, { ca: null, ...options }))).toBe(200);
});

test("client certificates belong to their destination", async () => {
  const client = issue({ name: "switchyard", by: otherCa });
  const other = issue({ name: "other", by: otherCa });
  await using server = await serverWith(good, { requestCert: true, ca: otherCa.cert });
  const shows = (tls: { cert: string; key: string } | null) =>
    post(server, { destination: { tls: tls === null ? null : { ca: null, ...tls } } });
  expect(outcome(await shows(client))).toBe(200);
  expect(outcome(await shows(other))).toBe(200);
  // This server sends an alert; others close the connection, or send a 400.
  expect(outcome(await shows(null))).toBe("tls");
  expect(server.handshakes.map(({ subject }) => subject)).toEqual(["CN=switchyard", "CN=other"]);
});

test("destinations of one process show no certificates of each other's", async () => {
  const client = issue({ name: "switchyard", by: otherCa });
  await using server = await serverWith(good, { requestCert: true, rejectUnauthorized: false });
  const open = httpProcess({ ca: ca.cert });
  const files = { ca: null, cert: client.cert, key: client.key };
  for (const tls of [null, files, null]) {
    await using http = open({ tls });
    expect(outcome(await http.post(endpointOf(`https://localhost:${server.port}/hook`)))).toBe(200);
  }
  const subjects = server.handshakes.map(({ subject }) => subject);
  expect(subjects).toEqual([undefined, "CN=switchyard", undefined]);
});

test("sessions are resumed, and a resumed one is as good as it was", async () => {
  await using server = await serverWith(good);
  await using http = httpClient({ ca: ca.cert });
  const endpoint = endpointOf(`https://localhost:${server.port}/`);
  expect(outcome(await http.post(endpoint))).toBe(200);
  const both = await Promise.all([http.post(endpoint), http.post(endpoint)]);
  expect(both.map(outcome)).toEqual([200, 200]);
  expect(server.handshakes.map(({ isResumed }) => isResumed)).toEqual([false, true]);
});

test("a session is not resumed once its certificate has expired, or was last checked too long ago", async () => {
  await using server = await serverWith(good);
  const options: SocketOptions = {
    allowAddress: () => true,
    resolve: systemResolve,
    addressPatienceMs: 2_000,
    connectionMaxAgeMs: 60_000,
    secureContext: () => secureContext({ ca: ca.cert, cert: null, key: null }),
    proxy: null,
  };
  const session: TlsSession = { last: null };
  const connect = async (count: number) => {
    const target = { protocol: "https:", hostname: "localhost", port: server.port };
    const socket = openSocket(target, options, session, () => undefined).resume();
    await expect.poll(() => server.handshakes.length).toBe(count);
    await expect.poll(() => session.last).not.toBeNull();
    socket.destroy();
  };
  await connect(1);
  const checkedAtMs = session.last?.checkedAtMs;
  await connect(2);
  // The certificate is not checked when a session is resumed.
  expect(session.last?.checkedAtMs).toBe(checkedAtMs);
  if (session.last !== null) session.last = { ...session.last, validUntilMs: Date.now() - 1 };
  await connect(3);
  const longAgoMs = performance.now() - options.connectionMaxAgeMs;
  if (session.last !== null) session.last = { ...session.last, checkedAtMs: longAgoMs };
  await connect(4);
  expect(server.handshakes.map(({ isResumed }) => isResumed)).toEqual([false, true, false, false]);
});

/** Returns what a separate process with this environment gets from each server. */
async function inProcess(env: Record<string, string>, ports: readonly number[]) {
  const script = `
    import { httpClient, outcome } from ${JSON.stringify(join(import.meta.dirname, "../support/servers/http-client.ts"))};
    import { endpointOf } from ${JSON.stringify(join(import.meta.dirname, "../support/build/webhook-destination.ts"))};
    await using http = httpClient({ ca: process.env.PRIVATE_CA });
    const outcomes = [];
    for (const port of ${JSON.stringify(ports)})
      outcomes.push(outcome(await http.post(endpointOf(\`https://localhost:\${port}/\`))));
    console.log(JSON.stringify(outcomes));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", script],
    { env: { ...process.env, PRIVATE_CA: ca.cert, ...env } },
  );
  return JSON.parse(stdout) as unknown;
}

test("NODE_TLS_REJECT_UNAUTHORIZED=0 changes nothing", async () => {
  await using refused = await serverWith(selfSigned);
  await using unknownCa = await serverWith(unknown);
  await using wrongHost = await serverWith(elsewhere);
  await using accepted = await serverWith(good);
  const servers = [refused, unknownCa, wrongHost, accepted];
  const ports = servers.map(({ port }) => port);
  expect(await inProcess({ NODE_TLS_REJECT_UNAUTHORIZED: "0" }, ports)).toEqual([
    "tls-self-signed",
    "tls-unknown-ca",
    "tls-wrong-host",
    200,
  ]);
  for (const server of [refused, unknownCa, wrongHost]) expect(server.received()).toBe("");
});

test("a private CA is added to the public roots, not put in their place", async () => {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-tls-"));
  try {
    // The certificates in the file that this variable names count as public roots.
    const file = join(directory, "root.pem");
    writeFileSync(file, otherCa.cert);
    await using ofPublic = await serverWith(unknown);
    await using ofPrivate = await serverWith(good);
    const ports = [ofPublic.port, ofPrivate.port];
    expect(await inProcess({ NODE_EXTRA_CA_CERTS: file }, ports)).toEqual([200, 200]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
