// The console's server on real sockets: which requests are allowed, and the headers of the responses.

import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { startTestConsole, type TestConsole } from "../support/servers/console.ts";

const TOKEN = "0123456789abcdef-token";

interface Said {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function send(
  url: string,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Said> {
  const { method = "GET", headers = {}, body } = options;
  const asked = request(new URL(path, url), { method, headers, agent: false });
  asked.end(body);
  const [response] = await once(asked, "response");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const OWN = { "x-switchyard-console": "1" };
const POLL = { interval: 50 };

test("the page is the same for everybody, and its files are named by their content", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  const document = await send(page.url, "/destinations/crm");
  expect(document.status).toBe(200);
  expect(document.headers["content-type"]).toBe("text/html; charset=utf-8");
  const paths = [...document.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
  expect(paths.length).toBe(3);
  for (const path of paths) {
    const file = await send(page.url, path);
    expect([path, file.status, file.headers["cache-control"]]).toEqual([
      path,
      200,
      "public, max-age=31536000, immutable",
    ]);
  }
  expect(document.body).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:/);
});

test("silent connections of one address do not lock out another", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  const silent = [];
  for (let count = 0; count < 300; count += 1) {
    const socket = connect({ host: "127.0.0.1", port: page.port, localAddress: "127.0.0.2" });
    socket.on("error", () => undefined);
    silent.push(socket);
    await once(socket, "connect");
  }
  expect((await send(page.url, "/")).status).toBe(200);
  for (const socket of silent) socket.destroy();
});

test("the page is small as it is sent: less than 200 KB", async () => {
  await using page = await startTestConsole();
  const headers = { "accept-encoding": "gzip, br" };
  const document = await fetched(page.url, "/", headers);
  const paths = [...`${document.text}`.matchAll(/(?:src|href)="([^"]+)"/g)];
  let bytes = document.sent;
  for (const [, path = ""] of paths) {
    const file = await fetched(page.url, path, headers);
    expect([path, file.headers["content-encoding"]]).toEqual([path, "gzip"]);
    // The content is the same with and without compression.
    expect(file.text).toBe((await fetched(page.url, path, {})).text);
    bytes += file.sent;
  }
  expect(paths.length).toBe(3);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThan(200_000);
});

/** Returns the response, with the size of its body on the wire. */
async function fetched(url: string, path: string, headers: Record<string, string>) {
  const asked = request(new URL(path, url), { headers, agent: false });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const body = await buffer(response);
  const isGzip = response.headers["content-encoding"] === "gzip";
  const whole = isGzip ? gunzipSync(body) : body;
  return { headers: response.headers, sent: body.length, text: whole.toString() };
}

test("what may be in no address is sent, bounded, by the page itself", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  const known = { ...OWN, authorization: `Bearer ${TOKEN}` };
  const post = (path: string, body: string, headers: Record<string, string> = known) =>
    send(page.url, path, { method: "POST", headers, body });
  const data = await post("/api/user", "ada@example.com");
  expect(JSON.parse(data.body)).toEqual({ hash: expect.stringMatching(/^[\da-f]{32}$/) });
  expect((await post("/api/user", "x".repeat(5_000))).status).toBe(413);
  expect((await post("/api/user", "x", OWN)).status).toBe(401);
  const foreign = { authorization: `Bearer ${TOKEN}` };
  expect((await post("/api/user", "x", foreign)).status).toBe(403);
  expect((await send(page.url, "/api/user", { headers: known })).status).toBe(405);
});

test("reading ends for a page that leaves, and others may read then", async () => {
  await using page = await startTestConsole();
  page.data.isSlow = true;
  const leaving = Array.from({ length: 4 }, () => {
    const asked = request(new URL("/api/audiences", page.url), { agent: false });
    asked.on("error", () => undefined).end();
    return asked;
  });
  await expect.poll(() => page.data.reading).toBe(4);
  const refused = await send(page.url, "/api/audiences");
  expect([refused.status, refused.body]).toEqual([
    503,
    JSON.stringify({ error: "Too many queries are in progress. Try again." }),
  ]);
  for (const asked of leaving) asked.destroy();
  await expect.poll(() => page.data.reading).toBe(0);
  page.data.isSlow = false;
  expect((await send(page.url, "/api/audiences")).status).toBe(200);
});

test("every response forbids what is not its own", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  for (const path of ["/", "/assets/none.js", "/api/session", "/api/audiences", "/nothing"]) {
    const { headers } = await send(page.url, path);
    const policy = headers["content-security-policy"];
    expect(policy, path).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  }
  const { headers } = await send(page.url, "/api/session");
  expect(headers["cache-control"]).toBe("no-store");
});

test("data is returned to those who know the token, by cookie or as bearer", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  const paths = ["/api/audiences", "/api/dead-letters", "/api/configuration"];
  for (const path of [...paths, "/api/events?of=overview"]) {
    expect([path, (await send(page.url, path)).status]).toEqual([path, 401]);
  }
  const session = await send(page.url, "/api/session");
  expect(JSON.parse(session.body)).toEqual({
    isKnown: false,
    hasToken: true,
    readOnly: true,
    version: "",
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  for (const path of paths) expect((await send(page.url, path, { headers })).status).toBe(200);
  const wrong = await send(page.url, "/api/session", {
    method: "POST",
    headers: OWN,
    body: `${TOKEN}x`,
  });
  expect([wrong.status, wrong.headers["set-cookie"]]).toEqual([401, undefined]);
  expect(page.data.slept).toContain(250);
  const guess = { authorization: `Bearer ${TOKEN}y`, "x-forwarded-for": "10.1.1.1" };
  page.data.slept.length = 0;
  expect((await send(page.url, "/api/audiences", { headers: guess })).status).toBe(401);
  expect(page.data.slept).toContain(250);
  const logged = page.log.lines.filter(({ msg }) => msg === "console.sign-in-failed");
  expect(logged[0]).toMatchObject({ level: "warn", fields: { from: "127.0.0.1" } });
  expect(JSON.stringify(page.log.lines)).not.toContain(TOKEN);
  const right = await send(page.url, "/api/session", { method: "POST", headers: OWN, body: TOKEN });
  const [cookie = ""] = right.headers["set-cookie"] ?? [];
  expect([right.status, cookie]).toEqual([
    204,
    expect.stringMatching(/; HttpOnly; SameSite=Strict/),
  ]);
  const [pair = ""] = cookie.split(";");
  expect((await send(page.url, "/api/audiences", { headers: { cookie: pair } })).status).toBe(200);
  const asked = request(new URL("/api/events?of=overview", page.url), {
    headers: { cookie: pair },
    agent: false,
  });
  asked.end();
  const [stream] = (await once(asked, "response")) as [IncomingMessage];
  stream.resume();
  const out = await send(page.url, "/api/session", {
    method: "DELETE",
    headers: { ...OWN, cookie: pair },
  });
  expect(out.headers["set-cookie"]?.[0]).toContain("Max-Age=0");
  expect((await send(page.url, "/api/audiences", { headers: { cookie: pair } })).status).toBe(401);
  await once(stream, "end");
});

test("another page can neither read nor write, and no foreign name leads here", async () => {
  await using page = await startTestConsole();
  const rebound = await send(page.url, "/api/audiences", {
    headers: { host: `attacker.example:${page.port}` },
  });
  expect(rebound.status).toBe(421);
  const foreign = { ...OWN, origin: "https://attacker.example" };
  for (const headers of [foreign, { origin: `http://127.0.0.1:${page.port}` }]) {
    const said = await send(page.url, "/api/session", { method: "POST", headers, body: "x" });
    expect(said.status).toBe(403);
  }
  const { headers } = await send(page.url, "/api/audiences", {
    headers: { origin: "https://a.b" },
  });
  expect(headers["access-control-allow-origin"]).toBeUndefined();
});

test("nothing else gets a response", async () => {
  await using page = await startTestConsole();
  expect((await send(page.url, "/api/audiences", { method: "POST", headers: OWN })).status).toBe(
    405,
  );
  for (const path of ["/assets/%2e%2e/package.json", "/api/none", "/.git/config"]) {
    expect((await send(page.url, path)).status).toBe(404);
  }
  const huge = await send(page.url, "/api/session", {
    method: "POST",
    headers: OWN,
    body: "x".repeat(4_000),
  });
  expect(huge.status).toBe(204);
});

test("beyond this machine it does not start without a token", async () => {
  await expect(startTestConsole({ host: "0.0.0.0" })).rejects.toThrow(
    "console.token is not set. Set a token, or listen on 127.0.0.1.",
  );
  await using page = await startTestConsole({ host: "0.0.0.0", token: TOKEN });
  expect((await send(`http://127.0.0.1:${page.port}`, "/api/audiences")).status).toBe(401);
});

test("a port that is taken is said with its setting", async () => {
  await using page = await startTestConsole();
  await expect(startTestConsole({ port: page.port })).rejects.toThrow(
    "console.host, console.port: cannot listen",
  );
});

test("Kafka is looked at while a stream is open, and not after the last is closed", async () => {
  await using page = await startTestConsole();
  await send(page.url, "/api/audiences");
  expect(page.data.polls).toBe(0);
  const asked = request(new URL("/api/events?of=overview", page.url), { agent: false });
  asked.end();
  const [stream] = await once(asked, "response");
  expect(stream.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  stream.setEncoding("utf8");
  let heard = "";
  stream.on("data", (piece: string) => {
    heard += piece;
  });
  await expect.poll(() => heard.match(/^data: /gm)?.length ?? 0).toBeGreaterThan(1);
  expect(heard).toContain('"rates":');
  await expect.poll(() => page.data.slept.at(-1)).toBeLessThan(2_000);
  asked.destroy();
  // Then it waits for the next time at which it reads the metrics of the processes.
  await expect.poll(() => page.data.slept.at(-1)).toBe(30_000);
});

const JSON_TYPE = { "content-type": "application/json" };
const RETRY = JSON.stringify({ action: "retry", destination: "crm" });

function act(page: TestConsole, headers: Record<string, string> = {}, body = RETRY) {
  const all = { ...OWN, ...JSON_TYPE, ...headers };
  return send(page.url, "/api/actions", { method: "POST", headers: all, body });
}

test("an action needs the token, this page itself, and JSON; nothing is done without", async () => {
  await using page = await startTestConsole({ token: TOKEN, readOnly: false });
  const bearer = { authorization: `Bearer ${TOKEN}` };
  const refused: [Record<string, string>, number][] = [
    [{}, 401],
    [{ authorization: "Bearer 0123456789abcdef-wrong" }, 401],
    [{ ...bearer, "x-switchyard-console": "" }, 403],
    [{ ...bearer, origin: "https://attacker.example" }, 403],
    [{ ...bearer, origin: "null" }, 403],
    [{ ...bearer, "sec-fetch-site": "cross-site" }, 403],
    [{ ...bearer, "content-type": "text/plain" }, 415],
    [{ ...bearer, "content-type": "application/x-www-form-urlencoded" }, 415],
  ];
  for (const [headers, status] of refused) {
    expect([headers, (await act(page, headers)).status]).toEqual([headers, status]);
  }
  expect([page.data.acted, page.log.seen]).toEqual([
    [],
    ["console.listening", "console.sign-in-failed"],
  ]);
  const begun = await act(page, { ...bearer, "x-forwarded-for": "10.1.2.3" });
  expect(begun.status).toBe(202);
  expect(page.data.acted).toEqual([{ action: "retry", destination: "crm" }]);
  expect(page.log.lines.find(({ msg }) => msg === "console.action.started")?.fields).toEqual({
    job: (JSON.parse(begun.body) as { id: string }).id,
    action: { action: "retry", destination: "crm" },
    by: "token",
    from: "127.0.0.1",
    forwardedFor: "10.1.2.3",
  });
});

test("a page that is read-only rejects every action, and says why", async () => {
  await using page = await startTestConsole({ token: TOKEN });
  const said = await act(page, { authorization: `Bearer ${TOKEN}` });
  expect([said.status, JSON.parse(said.body)]).toEqual([
    403,
    { error: "This console is read-only: console.readOnly is true." },
  ]);
  const path = "/api/actions/00000000-0000-0000-0000-000000000000";
  const headers = { ...OWN, authorization: `Bearer ${TOKEN}` };
  expect((await send(page.url, path, { method: "DELETE", headers })).status).toBe(403);
  expect(page.data.acted).toEqual([]);
});

test("an action that is none, too large, or not allowed is rejected with a sentence", async () => {
  await using page = await startTestConsole({ readOnly: false });
  expect((await act(page, {}, "pause")).status).toBe(400);
  expect((await act(page, {}, JSON.stringify({ action: "retry" }))).body).toContain(
    "destination is missing",
  );
  expect((await act(page, {}, `${" ".repeat(5_000)}${RETRY}`)).status).toBe(413);
  page.data.work = () => {
    throw new Error("no destination has the ID");
  };
  expect((await act(page)).body).toContain("no destination has the ID");
  expect(page.data.acted).toEqual([]);
  const put = await send(page.url, "/api/actions", { method: "PUT", headers: OWN });
  expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD, POST"]);
});

test("an action in progress is reported by events, and can be stopped", async () => {
  await using page = await startTestConsole({ readOnly: false });
  page.data.work = () => async (progress, signal) => {
    progress.follow(() => "12 left");
    await once(signal, "abort");
    progress.report("9 left.");
    return { isDone: false, count: null, unfinished: null };
  };
  const stream = request(new URL("/api/events?of=overview", page.url), { agent: false });
  stream.end();
  const [events] = (await once(stream, "response")) as [IncomingMessage];
  let heard = "";
  events.setEncoding("utf8").on("data", (piece: string) => {
    heard += piece;
  });
  const begun = JSON.parse((await act(page)).body) as { id: string; state: string };
  expect(begun.state).toBe("running");
  await expect.poll(() => heard, POLL).toMatch(/event: jobs\ndata: \[.*12 left/);
  expect((await act(page)).status).toBe(409);
  const path = `/api/actions/${begun.id}`;
  expect((await send(page.url, path, { method: "DELETE", headers: OWN })).status).toBe(204);
  await expect.poll(() => heard, POLL).toMatch(/"stopped","progress":"","messages":\["9 left."\]/);
  expect((await send(page.url, path, { method: "DELETE", headers: OWN })).status).toBe(404);
  const listed = JSON.parse((await send(page.url, "/api/actions")).body) as { jobs: object[] };
  expect(listed.jobs).toMatchObject([{ id: begun.id, state: "stopped" }]);
  stream.destroy();
});
