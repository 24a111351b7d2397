// Requests through a forward proxy: what reaches the endpoint, who counts as the cause of a failure, and that no proxy can
// take more time or memory than an endpoint.

import { expect, test } from "vitest";
import { asError } from "../../src/base/runtime/as-error.ts";
import type { Phases } from "../../src/router/destinations/port.ts";
import { issue } from "../support/build/certificates.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import {
  forwardProxy,
  NAME_OF_PROXY,
  type ProxyManner,
  respond,
} from "../support/servers/forward-proxy.ts";
import { type HttpClient, httpClient, outcome } from "../support/servers/http-client.ts";
import { openedSender } from "../support/servers/opened-sender.ts";
import { rawServer } from "../support/servers/raw-server.ts";
import { tlsServer } from "../support/servers/tls-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const ca = issue({ name: "CA", isCa: true });
const proxyCa = issue({ name: "CA of proxies", isCa: true });
const certificate = issue({ name: "proxy", hosts: ["localhost"], by: proxyCa });
const own = issue({ name: "endpoint", hosts: [NAME_OF_PROXY], by: ca });
const client = issue({ name: "client", by: ca });

const okServer = () => rawServer((socket) => socket.write(OK));

/** The status, the cause, or the sentence about the proxy. */
function posted(http: HttpClient, url: string): Promise<number | string> {
  return http.post(endpointOf(url)).then(outcome, (error: unknown) => asError(error).message);
}

test.each([
  ["http", undefined],
  ["https", { cert: certificate.cert, key: certificate.key }],
] as const)("over %s to the proxy, endpoints get requests as without one", async (_, tls) => {
  await using plain = await okServer();
  await using secure = await tlsServer({
    ...{ cert: own.cert, key: own.key, ca: ca.cert },
    ...{ requestCert: true, rejectUnauthorized: false },
  });
  await using proxy = await forwardProxy({
    ...(tls && { tls }),
    authorization: `Basic ${Buffer.from("me:p@ss wörd").toString("base64")}`,
  });
  const url = proxy.url.replace("//", "//me:p%40ss%20w%C3%B6rd@");
  await using http = httpClient({
    ...{ ca: ca.cert, proxy: url, proxyCa: proxyCa.cert },
    destination: { tls: { ca: null, cert: client.cert, key: client.key } },
  });
  const plainUrl = plain.url.replace("127.0.0.1", NAME_OF_PROXY);
  const secureUrl = `https://${NAME_OF_PROXY}:${secure.port}`;
  for (let round = 0; round < 3; round += 1) {
    expect(await posted(http, `${plainUrl}/secret`)).toBe(200);
    expect(await posted(http, `${secureUrl}/secret`)).toBe(200);
  }
  // Both connections are tunnels, and are reused.
  expect([plain.connections(), secure.connections(), proxy.heads.length]).toEqual([1, 1, 2]);
  expect(secure.handshakes).toEqual([
    { subject: "CN=client", serverName: NAME_OF_PROXY, isResumed: false },
  ]);
  const credentials = `Proxy-Authorization: Basic ${Buffer.from("me:p@ss wörd").toString("base64")}\r\n`;
  const port = new URL(plainUrl).port;
  expect(proxy.heads[0]).toBe(
    `CONNECT ${NAME_OF_PROXY}:${port} HTTP/1.1\r\nHost: ${NAME_OF_PROXY}:${port}\r\n${credentials}\r\n`,
  );
  expect(proxy.heads.join("")).not.toContain("secret");
  expect(plain.received.join("")).toContain(
    `POST /secret HTTP/1.1\r\nhost: ${NAME_OF_PROXY}:${port}`,
  );
  expect(plain.received.join("")).not.toMatch(/proxy-/i);
});

function says(...texts: readonly string[]): ProxyManner {
  return (socket) => {
    for (const text of texts) socket.write(text, "latin1");
  };
}

/** Writes as fast as the other side reads. */
function floods(start: string, more: string): ProxyManner {
  return (socket) => {
    socket.write(start);
    const chunk = more.repeat(Math.ceil(65_536 / more.length));
    const next = () => {
      if (!socket.destroyed) socket.write(chunk, () => setImmediate(next));
    };
    next();
  };
}

function drips(text: string): ProxyManner {
  return (socket) => {
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ""), 1);
    socket.on("close", () => clearInterval(timer));
  };
}

const RESPONDED = "HTTP/1.1 200 OK\r\n\r\n";
const TOO_MUCH = "sent too much before the end of its response";
const ODD = "sent something other than a response to CONNECT";
const CLOSED = "closed the connection before it responded to CONNECT";
const LATE = "did not respond in time";

test.each<[string, ProxyManner, number | string]>([
  ["407", (socket) => respond(socket, 407), "requires credentials (407)"],
  ["403", (socket) => respond(socket, 403), "responded 403 to CONNECT"],
  ["400", (socket) => respond(socket, 400), "responded 400 to CONNECT"],
  ["a redirect", (socket) => respond(socket, 302), "responded 302 to CONNECT"],
  ["101", (socket) => respond(socket, 101), ODD],
  ["another status", (socket) => respond(socket, 999), "responded 999 to CONNECT"],
  ["429", (socket) => respond(socket, 429), "unreachable"],
  ["502", (socket) => respond(socket, 502), "unreachable"],
  ["504", (socket) => respond(socket, 504), "timeout"],
  ["an end at once", (socket) => socket.end(), CLOSED],
  ["a reset", (socket) => socket.resetAndDestroy(), CLOSED],
  ["an end in the middle", (socket) => socket.end("HTTP/1.1 200 O"), CLOSED],
  [
    "a reset after a part",
    (s) => s.write("HTTP/1.1 200 OK\r\n", () => s.resetAndDestroy()),
    CLOSED,
  ],
  ["no response", () => undefined, LATE],
  ["half a response", says("HTTP/1.1 200 OK\r\nVia: x"), LATE],
  ["only an interim response", says("HTTP/1.1 100 Continue\r\n\r\n"), LATE],
  ["a megabyte of headers", floods("HTTP/1.1 200 OK\r\n", `A: ${"b".repeat(99)}\r\n`), TOO_MUCH],
  ["endless interim responses", floods("", "HTTP/1.1 102 P\r\n\r\n"), TOO_MUCH],
  ["one byte at a time, without end", drips("HTTP/1.1 102 P\r\n\r\n"), TOO_MUCH],
  ["garbage", says("\0\x01\x02 garbage\r\n\r\n"), ODD],
  ["another protocol", says("SSH-2.0-OpenSSH_9.6\r\n"), ODD],
  ["a page", says("<html></html>\r\n\r\n"), ODD],
  ["garbage after 200, together", says(`${RESPONDED}garbage`), "protocol"],
  ["garbage after 200", (s) => s.write(RESPONDED, () => s.write("garbage")), "protocol"],
  ["an end after 200", (s) => s.end(RESPONDED), "reset"],
])("%s from the proxy", async (name, manner, wanted) => {
  await using proxy = await forwardProxy({ manner });
  const timeoutMs = wanted === LATE ? 100 : 30_000;
  await using http = httpClient({ timeoutMs, proxy: proxy.url });
  const found = await posted(http, `http://${NAME_OF_PROXY}/`);
  const isProxys = typeof wanted === "string" && wanted.includes(" ");
  expect(found, name).toBe(isProxys ? `the proxy localhost:${proxy.port} ${wanted}` : wanted);
  await expect.poll(proxy.open).toBe(0);
});

test("a proxy that cannot be reached, and one with the wrong certificate", async () => {
  await using stopped = await forwardProxy();
  await stopped.stop();
  await using unverified = httpClient({ proxy: stopped.url });
  const name = `the proxy localhost:${stopped.port}`;
  expect(await posted(unverified, `http://${NAME_OF_PROXY}/`)).toBe(
    `${name} refused the connection`,
  );
  await using unknown = httpClient({ proxy: "http://me:pw@proxy.invalid:3128" });
  expect(await posted(unknown, `http://${NAME_OF_PROXY}/`)).toMatch(
    /^the proxy proxy\.invalid:3128 cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\)$/,
  );
  const expired = issue({ name: "p", hosts: ["localhost"], by: proxyCa, until: new Date(0) });
  const elsewhere = issue({ name: "p", hosts: ["other.example.com"], by: proxyCa });
  const selfSigned = issue({ name: "p", hosts: ["localhost"] });
  const wrong = [
    [expired, proxyCa.cert, "CERT_HAS_EXPIRED"],
    [elsewhere, proxyCa.cert, "ERR_TLS_CERT_ALTNAME_INVALID"],
    [certificate, null, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    [selfSigned, selfSigned.cert, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ] as const;
  for (const [{ cert, key }, trusted, code] of wrong) {
    await using proxy = await forwardProxy({ tls: { cert, key } });
    // Endpoints' CAs are not those of proxies.
    await using http = httpClient({ proxy: proxy.url, proxyCa: trusted, ca: proxyCa.cert });
    for (const scheme of ["http", "https"]) {
      expect(await posted(http, `${scheme}://${NAME_OF_PROXY}/`)).toBe(
        `the proxy localhost:${proxy.port} was reached, but TLS failed (${code})`,
      );
    }
    expect(proxy.heads).toEqual([]);
  }
  await using plain = await rawServer((socket) => respond(socket, 400));
  await using http = httpClient({ proxy: plain.url.replace("http:", "https:") });
  expect(await posted(http, `http://${NAME_OF_PROXY}/`)).toMatch(/was reached, but TLS failed/);
});

test("a proxy that does not even accept TLS in time", async () => {
  await using silent = await rawServer(() => undefined);
  await using http = httpClient({ timeoutMs: 100, proxy: silent.url.replace("http:", "https:") });
  const { host } = new URL(silent.url);
  expect(await posted(http, `http://${NAME_OF_PROXY}/`)).toBe(
    `the proxy ${host} did not respond in time`,
  );
  await expect.poll(silent.open).toBe(0);
});

test("the proxy's address and the addresses of names are not checked, but addresses in URLs are", async () => {
  await using endpoint = await okServer();
  await using proxy = await forwardProxy();
  const { port } = new URL(endpoint.url);
  await using strict = httpClient({ allow: [], proxy: proxy.url });
  expect(await posted(strict, `http://${NAME_OF_PROXY}:${port}/`)).toBe(200);
  expect(await posted(strict, `http://127.0.0.1:${port}/`)).toBe("address");
  expect(await posted(strict, `http://[::1]:${port}/`)).toBe("address");
  expect(proxy.heads.length).toBe(1);
  await using open = httpClient({ allow: ["::1"], proxy: proxy.url });
  proxy.manner = (socket) => respond(socket, 502);
  expect(await posted(open, `http://[::1]:${port}/`)).toBe("unreachable");
  expect(proxy.heads.at(-1)).toContain(`CONNECT [::1]:${port} HTTP/1.1\r\nHost: [::1]:${port}\r\n`);
});

test("an endpoint's certificate is verified inside the tunnel, not that of whoever opened it", async () => {
  // The proxy has a certificate of its own CA for the endpoint's name.
  const forged = issue({ name: "forged", hosts: [NAME_OF_PROXY], by: proxyCa });
  await using man = await tlsServer({ cert: forged.cert, key: forged.key });
  await using proxy = await forwardProxy({ tls: { cert: certificate.cert, key: certificate.key } });
  await using http = httpClient({ ca: ca.cert, proxy: proxy.url, proxyCa: proxyCa.cert });
  expect(await posted(http, `https://${NAME_OF_PROXY}:${man.port}/`)).toBe("tls-unknown-ca");
  expect(man.received()).toBe("");
});

test("an endpoint that fails behind the proxy fails as without one", async () => {
  await using proxy = await forwardProxy();
  await using http = httpClient({ timeoutMs: 200, proxy: proxy.url });
  await using silent = await rawServer(() => undefined);
  const url = (server: { url: string }) => server.url.replace("127.0.0.1", NAME_OF_PROXY);
  expect(await posted(http, url(silent))).toBe("timeout");
  await using resetting = await rawServer((socket) => socket.resetAndDestroy());
  expect(await posted(http, url(resetting))).toBe("reset");
  await using busy = await rawServer((socket) =>
    socket.write("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"),
  );
  expect(await posted(http, url(busy))).toBe(503);
});

test("a kept tunnel that the proxy closes is replaced, also after the proxy was down", async () => {
  await using endpoint = await okServer();
  await using proxy = await forwardProxy();
  await using http = httpClient({ proxy: proxy.url });
  const url = endpoint.url.replace("127.0.0.1", NAME_OF_PROXY);
  expect(await posted(http, url)).toBe(200);
  await proxy.stop();
  await expect.poll(endpoint.open).toBe(0);
  expect(await posted(http, url)).toBe(`the proxy localhost:${proxy.port} refused the connection`);
  await proxy.start();
  expect(await posted(http, url)).toBe(200);
  expect(endpoint.connections()).toBe(2);
});

test("requests that are under way at the end were not sent, if there is no tunnel yet", async () => {
  await using proxy = await forwardProxy({ manner: () => undefined });
  const http = httpClient({ proxy: proxy.url });
  const result = posted(http, `http://${NAME_OF_PROXY}/`);
  await expect.poll(() => proxy.heads.length).toBe(1);
  await http.close();
  expect(await result).toMatch(/^the proxy /);
  await expect.poll(proxy.open).toBe(0);
});

test("the phases of a request include the tunnel", async () => {
  await using secure = await tlsServer({ cert: own.cert, key: own.key });
  await using proxy = await forwardProxy();
  const urls = [`https://${NAME_OF_PROXY}:${secure.port}/`];
  const auth = { type: "bearer", token: "t" } as const;
  await using opened = await openedSender({ auth, urls }, { ca: ca.cert, proxy: proxy.url });
  const phases: Phases = {};
  expect(outcome(await opened.post(phases))).toBe(200);
  const { openedMs, lookedUpMs, connectedMs, securedMs, sentMs, headMs } = phases;
  const times = [openedMs, lookedUpMs, connectedMs, securedMs, sentMs, headMs];
  expect(times.every((ms) => ms !== undefined)).toBe(true);
  expect(times).toEqual(times.toSorted((a = 0, b = 0) => a - b));
  // The name of the proxy was looked up.
  expect(phases).toMatchObject({ isName: true, isSecure: true });
});

test("tokens are requested through the proxy, and a 401 counts if the proxy lets no second request through", async () => {
  await using proxy = await forwardProxy();
  let tokens = 0;
  await using provider = await rawServer((socket) => {
    tokens += 1;
    const token = `{"access_token":"t${tokens}","expires_in":3600}`;
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${token.length}\r\n\r\n${token}`);
  });
  let requests = 0;
  await using endpoint = await rawServer((socket) => {
    requests += 1;
    if (requests > 1) proxy.manner = (connection) => respond(connection, 403);
    socket.end(
      `HTTP/1.1 ${requests > 1 ? 401 : 200} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    );
  });
  const through = ({ url }: { url: string }) => url.replace("127.0.0.1", NAME_OF_PROXY);
  const auth = {
    ...({ type: "oauth2", tokenUrl: through(provider), clientId: "c", clientSecret: "s" } as const),
    ...({
      privateKey: null,
      keyId: null,
      scope: null,
      credentialsIn: "header",
      parameters: {},
    } as const),
  };
  await using opened = await openedSender(
    { auth, urls: [through(endpoint)] },
    { proxy: proxy.url },
  );
  opened.sender.readiness?.isReady();
  await opened.changed;
  expect(outcome(await opened.post())).toBe(200);
  expect(outcome(await opened.post())).toBe(401);
  expect(requests).toBe(2);
  expect(provider.received.join("").match(/POST/g)).toHaveLength(2);
  expect(proxy.heads.length).toBe(4);
});
