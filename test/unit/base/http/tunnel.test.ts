// The table of tunnel.ts. `test/local/deliver-proxy.test.ts` tests the same with real connections.

import { expect, test } from "vitest";

import { ProxyError, proxyName, proxyOf, Tunnel } from "../../../../src/base/http/tunnel.ts";

const context = () => {
  throw new Error("no TLS is needed");
};

function tunnel(url = "http://me:pw@proxy.example.com:3128"): Tunnel {
  return new Tunnel(proxyOf(url, context), "endpoint.example.com", 443);
}

/** What becomes of a tunnel whose proxy sends these texts, one in each read. */
function after(...texts: readonly string[]): string | null {
  const one = tunnel();
  one.request();
  let taken: Error | "open" | null = null;
  for (const text of texts) taken ??= one.take(Buffer.from(text, "latin1"));
  if (!(taken instanceof Error)) return taken;
  const { code = null } = taken as Error & { readonly code?: string };
  const isProxys = one.overdue() !== null;
  expect(taken instanceof ProxyError).toBe(isProxys);
  return isProxys ? taken.message : code;
}

const HEAD = "HTTP/1.1 200 OK\r\n";
const NAME = "proxy.example.com:3128";
const P = `the proxy ${NAME}`;
const ODD = `${P} sent something other than a response to CONNECT`;
const TOO_MUCH = `${P} sent too much before the end of its response`;

test.each<[string, readonly string[], string | null]>([
  ["2xx", [`${HEAD}\r\n`], "open"],
  ["any other 2xx", ["HTTP/1.0 299 \r\nContent-Length: 9\r\n\r\n"], "open"],
  ["2xx in pieces", ["H", "TTP/1.1 20", "0\r\n", "\r", "\n"], "open"],
  ["line feeds only", ["HTTP/1.1 200\n\n"], "open"],
  [
    "2xx after interim responses",
    ["HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\n", HEAD, "\r\n"],
    "open",
  ],
  ["a part of a response", [HEAD, "Via: x\r\n"], null],
  ["2xx with more bytes", [`${HEAD}\r\nx`], "HPE_INVALID"],
  ["300", ["HTTP/1.1 300 X\r\n\r\n"], `${P} responded 300 to CONNECT`],
  ["400 with a body", ["HTTP/1.1 400 X\r\n\r\n<html>"], `${P} responded 400 to CONNECT`],
  ["403", ["HTTP/1.1 403 X\r\n\r\n"], `${P} responded 403 to CONNECT`],
  ["407", ["HTTP/1.1 407 X\r\n\r\n"], `${P} requires other credentials (407)`],
  ["428", ["HTTP/1.1 428 X\r\n\r\n"], `${P} responded 428 to CONNECT`],
  ["429", ["HTTP/1.1 429 X\r\n\r\n"], "EHOSTUNREACH"],
  ["499", ["HTTP/1.1 499 X\r\n\r\n"], `${P} responded 499 to CONNECT`],
  ["500", ["HTTP/1.1 500 X\r\n\r\n"], "EHOSTUNREACH"],
  ["504", ["HTTP/1.1 504 X\r\n\r\n"], "ETIMEDOUT"],
  ["502 with a long page", [`HTTP/1.1 502 X\r\n\r\n${"x".repeat(16_364)}`], "EHOSTUNREACH"],
  ["599", ["HTTP/1.1 599 X\r\n\r\n"], "EHOSTUNREACH"],
  ["600", ["HTTP/1.1 600 X\r\n\r\n"], `${P} responded 600 to CONNECT`],
  ["101", ["HTTP/1.1 101 X\r\n\r\n"], ODD],
  ["something else", ["SSH-2.0-x\r\n"], ODD],
  ["too many bytes", [`${HEAD}A: ${"x".repeat(16_300)}`], TOO_MUCH],
  ["many headers", [`${HEAD}A: ${"x".repeat(16_000)}\r\n\r\n`], "open"],
  ["many reads", Array.from({ length: 130 }, () => "HTTP/1.1 102 P\r\n\r\n"), TOO_MUCH],
])("the proxy sends %s", (_name, texts, wanted) => {
  expect(after(...texts)).toBe(wanted);
});

test.each([
  ["ECONNREFUSED", "refused the connection"],
  ["EHOSTUNREACH", "cannot be reached (EHOSTUNREACH)"],
])("before the connection: %s", (code, text) => {
  const ended = tunnel().ended(Object.assign(new Error("x"), { code }));
  expect(ended).toEqual(new ProxyError(NAME, text));
});

test("an end during TLS, before the response, and when the tunnel is open", () => {
  const error = Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" });
  const one = tunnel();
  one.startTls();
  expect(one.ended(error).message).toBe(`${P} was reached, but TLS failed (CERT_HAS_EXPIRED)`);
  one.request();
  expect(one.ended(error).message).toBe(
    `${P} closed the connection before it responded to CONNECT`,
  );
  expect(one.overdue()?.message).toBe(`${P} did not respond in time`);
  expect(one.take(Buffer.from(`${HEAD}\r\n`))).toBe("open");
  expect(one.ended(error)).toBe(error);
  expect(one.overdue()).toBeNull();
});

test.each([
  ["http://proxy.example.com:80", "proxy.example.com", 80, "proxy.example.com:80", null],
  ["HTTPS://p:443/", "p", 443, "p:443", null],
  ["http://[2001:db8::1]:3128", "2001:db8::1", 3128, "[2001:db8::1]:3128", null],
  ["http://m%C3%A9:p%40%3A:w@p:1", "p", 1, "p:1", "mé:p@::w"],
])("the URL %s", (url, hostname, port, name, credentials) => {
  const authorization =
    credentials === null ? null : `Basic ${Buffer.from(credentials).toString("base64")}`;
  expect(proxyOf(url, context)).toMatchObject({ hostname, port, name, authorization });
  expect(proxyName(url)).toBe(name);
});

test("credentials are sent only if there are some, and an IPv6 address is in brackets", () => {
  const proxy = proxyOf("http://proxy.example.com:3128", context);
  const to = new Tunnel(proxy, "2001:db8::2", 8_443);
  expect(to.request()).toBe(
    "CONNECT [2001:db8::2]:8443 HTTP/1.1\r\nHost: [2001:db8::2]:8443\r\n\r\n",
  );
  expect(to.take(Buffer.from("HTTP/1.1 407 X\r\n\r\n"))).toEqual(
    new ProxyError(NAME, "requires credentials (407)"),
  );
});
