// URLs and TLS files change while connections are open: which connections are closed, when, and what the next request
// uses.

import { expect, test } from "vitest";
import { parseNetwork } from "../../src/domain/addresses.ts";
import { createHttp } from "../../src/router/destinations/webhook/http.ts";
import { requestTo, sharedRequest } from "../../src/router/destinations/webhook/request.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { parseContent } from "../../src/router/stage/content.ts";
import { issue } from "../support/build/certificates.ts";
import { NO_EGRESS } from "../support/build/lists.ts";
import { recordValue } from "../support/build/record-value.ts";
import { unitOf, webhookDestination } from "../support/build/webhook-destination.ts";
import { LOOPBACK, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";
import { tlsServer } from "../support/servers/tls-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const HOSTS = ["localhost"];

function open(first: WebhookDestination) {
  const allowNetworks = LOOPBACK.map(parseNetwork).filter((network) => network !== null);
  const port = createHttp({
    timeoutMs: 5_000,
    allowNetworks,
    connectionMaxAgeMs: 60_000,
    ...NO_EGRESS,
  });
  const connections = port.open(first);
  const parsed = parseContent(recordValue('{"type":"track","event":"e","userId":"u"}'));
  if (parsed.kind === "refused") throw new Error(parsed.error);
  const unit = unitOf(parsed.content);
  const post = (to: WebhookDestination) =>
    new Promise<number | string>((done) => {
      const [endpoint] = to.endpoints;
      if (endpoint === undefined) throw new Error("no endpoint");
      const request = requestTo(endpoint, sharedRequest(to, unit, Date.now()));
      connections.send(endpoint, request, (result) => done(outcome(result)));
    });
  return { connections, post, use: port.update };
}

test("connections to a URL that is gone are closed: free ones at once, one in use after its response", async () => {
  const responses = Promise.withResolvers<() => void>();
  let requests = 0;
  await using old = await rawServer((socket) => {
    requests += 1;
    if (requests === 1) socket.write(OK);
    else responses.resolve(() => socket.write(OK));
  });
  await using other = await rawServer((socket) => socket.write(OK));
  const before = webhookDestination({ urls: [`${old.url}/a`] });
  const { connections, post } = open(before);
  // There are two connections: one is unused while the other is in use.
  const [first, slow] = [post(before), post(before)];
  expect(await first).toBe(200);
  const respond = await responses.promise;
  const after = webhookDestination({ urls: [`${other.url}/b`] });
  expect(old.open()).toBe(2);
  connections.update(after);
  expect(await post(after)).toBe(200);
  await expect.poll(old.open).toBe(1);
  respond();
  expect(await slow).toBe(200);
  await expect.poll(old.open).toBe(0);
  expect(other.open()).toBe(1);
  await connections.close();
});

test("another path or header at the same place goes over the connection that is there", async () => {
  await using server = await rawServer((socket) => socket.write(OK));
  const before = webhookDestination({ urls: [`${server.url}/a`] });
  const { connections, post } = open(before);
  await post(before);
  const after = webhookDestination({ urls: [`${server.url}/b?c=1`], sharedSecret: "other" });
  connections.update(after);
  expect(await post(after)).toBe(200);
  expect(server.connections()).toBe(1);
  expect(server.received.join("")).toContain("POST /b?c=1 HTTP/1.1");
  await connections.close();
});

test("other TLS files count from the next request; the same ones keep the connection", async () => {
  const [ca, otherCa] = ["one", "other"].map((name) => issue({ name, isCa: true }));
  if (ca === undefined || otherCa === undefined) throw new Error("no CA");
  const client = issue({ name: "client", by: ca });
  const { cert, key } = issue({ name: "server", hosts: HOSTS, by: ca });
  await using server = await tlsServer({
    cert,
    key,
    ca: ca.cert,
    requestCert: true,
    rejectUnauthorized: false,
  });
  const trustedBy = (tls: WebhookDestination["tls"]) =>
    webhookDestination({ urls: [`https://localhost:${server.port}/`], tls });
  const trusting = { ca: ca.cert, cert: null, key: null };
  const { connections, post } = open(trustedBy(trusting));
  expect(await post(trustedBy(trusting))).toBe(200);
  connections.update(trustedBy({ ...trusting }));
  expect(await post(trustedBy(trusting))).toBe(200);
  expect(server.connections()).toBe(1);
  connections.update(trustedBy({ ca: ca.cert, cert: client.cert, key: client.key }));
  expect(await post(trustedBy(trusting))).toBe(200);
  expect(server.handshakes.map(({ subject }) => subject)).toEqual([undefined, "CN=client"]);
  expect(server.handshakes.at(-1)?.isResumed).toBe(false);
  connections.update(trustedBy({ ca: otherCa.cert, cert: null, key: null }));
  expect(await post(trustedBy(trusting))).toBe("tls-unknown-ca");
  await connections.close();
});

test("another private CA of all destinations counts from their next update", async () => {
  const [ca, otherCa] = ["one", "other"].map((name) => issue({ name, isCa: true }));
  if (ca === undefined || otherCa === undefined) throw new Error("no CA");
  await using server = await tlsServer(issue({ name: "server", hosts: HOSTS, by: ca }));
  const destination = webhookDestination({ urls: [`https://localhost:${server.port}/`] });
  const { connections, post, use } = open(destination);
  expect(await post(destination)).toBe("tls-unknown-ca");
  expect(use({ ...NO_EGRESS, ca: ca.cert })).toBe(true);
  expect(use({ ...NO_EGRESS, ca: ca.cert })).toBe(false);
  connections.update(destination);
  expect(await post(destination)).toBe(200);
  use({ ...NO_EGRESS, ca: otherCa.cert });
  connections.update(destination);
  expect(await post(destination)).toBe("tls-unknown-ca");
  await connections.close();
});
