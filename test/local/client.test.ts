/** The client library with a real HTTP server, real sockets, real timers and real processes. */

import { execFile, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import type { Fetch, FetchResponse } from "../../src/sdk/client/fetch.ts";
import {
  Analytics,
  type AnalyticsOptions,
  type LostCall,
  LostCallError,
  type SentBatch,
} from "../../src/sdk/client/index.ts";

const CLIENT = new URL("../../src/sdk/client/index.ts", import.meta.url).href;
const WRITE_KEY = "wk-ключ";

interface Batch {
  readonly batch: { readonly event: string; readonly properties?: unknown }[];
  readonly sentAt: string;
}

type Respond = (response: ServerResponse) => void;

const ok: Respond = (response) => {
  response.writeHead(200, { "content-type": "application/json" }).end('{"success":true}');
};
const status =
  (code: number, headers: Readonly<Record<string, string>> = {}, body = ""): Respond =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };
const drop: Respond = (response) => {
  response.socket?.destroy();
};
const never: Respond = () => {};

let server: Server | null = null;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
  server = null;
});

interface Endpoint {
  readonly endpoint: string;
  readonly batches: Batch[];
  readonly requests: IncomingMessage[];
}

/** Responds to requests with the given responses in turn, then with 200. */
async function listen(...responses: readonly Respond[]): Promise<Endpoint> {
  const batches: Batch[] = [];
  const requests: IncomingMessage[] = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push(request);
      batches.push(JSON.parse(Buffer.concat(chunks).toString()) as Batch);
      (responses[requests.length - 1] ?? ok)(response);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, batches, requests };
}

function client(endpoint: string, options: AnalyticsOptions = {}) {
  const lost: LostCall[] = [];
  const analytics = new Analytics(WRITE_KEY, {
    endpoint,
    onError: (call) => lost.push(call),
    ...options,
  });
  return { analytics, lost };
}

function events(batches: readonly Batch[]): string[][] {
  return batches.map(({ batch }) => batch.map(({ event }) => event));
}

test("calls arrive as one batch, as they were when they were handed in", async () => {
  const { endpoint, batches, requests } = await listen();
  const { analytics, lost } = client(endpoint);
  const properties = { total: 1 };
  analytics.track({ userId: "u", event: "a", properties });
  properties.total = 2;
  analytics.identify({ anonymousId: "x", traits: { plan: "pro" } });
  expect(requests).toEqual([]);
  await analytics.close();
  expect(requests).toHaveLength(1);
  const [request] = requests;
  expect(request?.url).toBe("/v1/batch");
  expect(request?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from(`${WRITE_KEY}:`).toString("base64")}`,
    "content-type": "application/json",
  });
  expect(batches[0]).toEqual({
    batch: [
      expect.objectContaining({ type: "track", event: "a", properties: { total: 1 } }),
      expect.objectContaining({ type: "identify", anonymousId: "x", traits: { plan: "pro" } }),
    ],
    sentAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(lost).toEqual([]);
  expect(() => analytics.track({ userId: "u", event: "late" })).toThrow(
    expect.objectContaining({ name: "ClosedError" }),
  );
});

test("every acknowledged batch is reported, with the attempts that it took", async () => {
  const { endpoint } = await listen((response) => response.writeHead(503).end());
  const sent: SentBatch[] = [];
  const onSuccess = (batch: SentBatch) => {
    sent.push(batch);
    throw new Error("mine");
  };
  const lines: string[] = [];
  const { analytics, lost } = client(endpoint, { onSuccess, log: (line) => lines.push(line) });
  analytics.track({ userId: "u", event: "a", messageId: "m-1" });
  analytics.track({ userId: "u", event: "b" });
  await analytics.flush();
  analytics.track({ userId: "u", event: "c" });
  await analytics.close();
  expect(sent).toEqual([
    {
      calls: [
        expect.objectContaining({ type: "track", event: "a", messageId: "m-1" }),
        expect.objectContaining({ event: "b" }),
      ],
      attempts: 2,
    },
    { calls: [expect.objectContaining({ event: "c" })], attempts: 1 },
  ]);
  expect(lost).toEqual([]);
  expect(lines.filter((line) => line.includes("onSuccess threw: mine"))).toHaveLength(2);
});

test("each call can be awaited: until the endpoint has acknowledged it", async () => {
  const { endpoint, requests } = await listen(status(503), ok);
  const { analytics } = client(endpoint, { flushAt: 6 });
  const U = { userId: "u" };
  const calls = [
    analytics.identify(U),
    analytics.track({ ...U, event: "e" }),
    analytics.page(U),
    analytics.screen(U),
    analytics.group({ ...U, groupId: "g" }),
    analytics.alias({ ...U, previousId: "p" }),
  ];
  expect(requests).toHaveLength(0);
  expect(await Promise.all(calls)).toEqual(calls.map(() => undefined));
  expect(requests).toHaveLength(2);
  // Awaited only after the result was known.
  await expect(calls[0]).resolves.toBeUndefined();
  await analytics.close();
});

test("a call alone is awaited until it is flushed, and hastens nothing", async () => {
  const { endpoint, batches } = await listen();
  const { analytics } = client(endpoint, { flushAfter: 50 });
  await analytics.track({ userId: "u", event: "a" });
  const second = analytics.track({ userId: "u", event: "b" });
  analytics.track({ userId: "u", event: "c" });
  await second;
  expect(events(batches)).toEqual([["a"], ["b", "c"]]);
  await analytics.close();
});

test.each<[string, Respond, AnalyticsOptions, object]>([
  ["rejected", status(401, {}, '{"message":"wrong write key"}'), {}, { status: 401, attempts: 1 }],
  ["attempts-exhausted", status(503), { attemptsMax: 1 }, { status: 503, attempts: 1 }],
  ["attempts-exhausted", drop, { attemptsMax: 1 }, { status: null, cause: expect.any(Error) }],
  ["closed", never, {}, { status: null, attempts: 1 }],
])(
  "a call that is abandoned rejects with its reason: %s",
  async (reason, respond, options, more) => {
    const { endpoint } = await listen(respond);
    const { analytics, lost } = client(endpoint, options);
    const call = analytics.track({ userId: "u", event: "a", messageId: "m" });
    await analytics.close({ timeoutMs: reason === "closed" ? 50 : 10_000 });
    const expected = { reason, call: { messageId: "m", event: "a" }, ...more };
    await expect(call).rejects.toMatchObject({ name: "LostCallError", ...expected });
    await expect(call).rejects.toBeInstanceOf(LostCallError);
    expect(await call.catch((error: unknown) => (error as LostCallError).message)).toBe(
      lost[0]?.message,
    );
  },
);

test("a call that the full queue rejects rejects, those before it do not", async () => {
  const { endpoint } = await listen();
  const { analytics } = client(endpoint, { flushAt: 2, queueCallsMax: 2 });
  const calls = ["a", "b", "c"].map((event) => analytics.track({ userId: "u", event }));
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  await analytics.close();
  await client(endpoint, { disable: true }).analytics.track({ userId: "u", event: "none" });
});

test("disabled it checks calls, and makes no request", async () => {
  const { endpoint, requests } = await listen();
  const { analytics, lost } = client(endpoint, { disable: true, flushAt: 1 });
  analytics.track({ userId: "u", event: "a" });
  expect(() => analytics.track({ userId: "u", event: "" })).toThrow(/event is missing/);
  await analytics.flush();
  await analytics.close();
  expect([requests, lost]).toEqual([[], []]);
  expect(() => analytics.track({ userId: "u", event: "late" })).toThrow(/closed/);
});

test("flushAt calls are sent without being asked, 1 sends each at once", async () => {
  const { endpoint, batches } = await listen();
  const { analytics } = client(endpoint, { flushAt: 1 });
  for (const event of ["a", "b", "c"]) analytics.track({ userId: "u", event });
  await analytics.flush();
  expect(events(batches)).toEqual([["a"], ["b"], ["c"]]);
  await analytics.close();
});

test("what fails for now is sent again, and the order stays", async () => {
  const { endpoint, batches } = await listen(status(503), drop, status(429), ok);
  const { analytics, lost } = client(endpoint, { flushAt: 2 });
  for (const event of ["a", "b", "c"]) analytics.track({ userId: "u", event });
  await analytics.close();
  expect(events(batches)).toEqual([["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"], ["c"]]);
  const ids = batches.slice(0, 4).map(({ batch }) => JSON.stringify(batch));
  expect(new Set(ids).size).toBe(1);
  expect(lost).toEqual([]);
});

test("Retry-After is waited for", async () => {
  const { endpoint, requests } = await listen(status(503, { "retry-after": "1" }), ok);
  const { analytics } = client(endpoint);
  let respondedAtMs = 0;
  server?.on("request", (_, response: ServerResponse) => {
    response.once("finish", () => {
      respondedAtMs ||= performance.now();
    });
  });
  analytics.track({ userId: "u", event: "a" });
  await analytics.close();
  expect(requests).toHaveLength(2);
  // Only a lower bound is checked: timers may be late and, because of rounding, a millisecond early.
  expect(performance.now() - respondedAtMs).toBeGreaterThanOrEqual(990);
});

test.each([400, 401, 413, 302])(
  "a batch with the response %i is reported, not repeated",
  async (code) => {
    const body = '{"success":false,"code":"x","message":"the reason"}';
    const { endpoint, requests } = await listen(status(code, { location: "/elsewhere" }, body));
    const { analytics, lost } = client(endpoint);
    analytics.track({ userId: "u", event: "a" });
    analytics.track({ userId: "u", event: "b" });
    await analytics.close();
    expect(requests).toHaveLength(1);
    expect(lost.map(({ call }) => call.event)).toEqual(["a", "b"]);
    expect(lost[0]).toMatchObject({ reason: "rejected", status: code, attempts: 1 });
    expect(lost[0]?.message).toContain("the reason");
  },
);

test("a response that does not come ends the attempt, then the calls are reported", async () => {
  const { endpoint, requests } = await listen(never, never);
  const { analytics, lost } = client(endpoint, { requestTimeoutMs: 1_000, attemptsMax: 2 });
  analytics.track({ userId: "u", event: "a" });
  await analytics.close();
  expect(requests).toHaveLength(2);
  expect(lost).toMatchObject([{ reason: "attempts-exhausted", attempts: 2, status: null }]);
  expect(lost[0]?.message).toContain("no response within 1000 ms");
});

test("close gives up what is left when its time is over", async () => {
  const { endpoint } = await listen(never);
  const { analytics, lost } = client(endpoint, { flushAt: 1 });
  analytics.track({ userId: "u", event: "a" });
  analytics.track({ userId: "u", event: "b" });
  await analytics.close({ timeoutMs: 50 });
  expect(lost.map(({ call, reason }) => [call.event, reason])).toEqual([
    ["a", "closed"],
    ["b", "closed"],
  ]);
});

test("a full queue rejects the newest and reports it; nothing is thrown", async () => {
  const { endpoint, batches } = await listen();
  const { analytics, lost } = client(endpoint, { flushAt: 2, queueCallsMax: 2 });
  for (const event of ["a", "b", "c"]) analytics.track({ userId: "u", event });
  expect(lost).toMatchObject([{ reason: "queue-full", call: { event: "c" } }]);
  await analytics.close();
  expect(events(batches)).toEqual([["a", "b"]]);
});

test("an onError that throws, or makes calls, costs nothing", async () => {
  const { endpoint, batches } = await listen();
  const lines: string[] = [];
  const { analytics } = client(endpoint, {
    flushAt: 2,
    queueCallsMax: 2,
    log: (line) => lines.push(line),
    onError: () => {
      analytics.track({ userId: "u", event: "from onError" });
      throw new Error("mine");
    },
  });
  for (const event of ["a", "b", "c"]) analytics.track({ userId: "u", event });
  await analytics.close();
  expect(events(batches)).toEqual([["a", "b"]]);
  expect(lines.join("\n")).toMatch(/queue-full.*\n.*onError threw: mine/);
});

test("the log shows no payload and no key unless payloads are asked for", async () => {
  const { endpoint } = await listen(status(503));
  const lines: string[] = [];
  const options = { debug: true, log: (line: string) => lines.push(line) };
  const { analytics } = client(endpoint, options);
  analytics.track({ userId: "secret-user", event: "secret event" });
  await analytics.close();
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.join("\n")).not.toMatch(/secret|wk-/);
  const asked = client(endpoint, { ...options, debugPayloads: true });
  asked.analytics.track({ userId: "secret-user", event: "e" });
  expect(lines.at(-1)).toContain("secret-user");
  await asked.analytics.close();
});

const SETUP = `
  import { Analytics, closeOnExit } from ${JSON.stringify(CLIENT)};
  const analytics = new Analytics("k", {
    endpoint: process.env.ENDPOINT,
    flushAfter: Number(process.env.FLUSH_AFTER ?? 5_000),
    onError: ({ call, reason }) => console.log(call.event + " " + reason),
  });`;

function program(endpoint: string, lines: string) {
  return {
    argv: ["--input-type=module", "--eval", `${SETUP}\n${lines}`],
    env: { ...process.env, ENDPOINT: endpoint },
  };
}

test("a process with an open client ends by itself, without a hook", async () => {
  const { endpoint, requests } = await listen(status(503, { "retry-after": "600" }));
  const waiting = program(
    endpoint,
    `analytics.track({ userId: "u", event: "a" }); console.log("end");`,
  );
  const run = promisify(execFile);
  expect((await run(process.execPath, waiting.argv, { env: waiting.env })).stdout).toBe("end\n");
  expect(requests).toHaveLength(0);
});

test("waiting in flush and close keeps a process alive, over attempts too", async () => {
  const { endpoint, batches } = await listen(status(503, { "retry-after": "1" }));
  const { argv, env } = program(
    endpoint,
    `analytics.track({ userId: "u", event: "a" }); await analytics.flush(); await analytics.close();
     console.log("end");`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env });
  expect(stdout).toBe("end\n");
  expect(events(batches)).toEqual([["a"], ["a"]]);
});

test("closeOnExit sends what is queued when a process has nothing left to do", async () => {
  const { endpoint, batches } = await listen();
  const { argv, env } = program(
    endpoint,
    `closeOnExit(analytics); analytics.track({ userId: "u", event: "a" });`,
  );
  await promisify(execFile)(process.execPath, argv, { env });
  expect(events(batches)).toEqual([["a"]]);
});

test("closeOnExit sends what is queued on SIGTERM, and the process ends by the signal", async () => {
  const { endpoint, batches } = await listen();
  const { argv, env } = program(
    endpoint,
    `closeOnExit(analytics); setInterval(() => {}, 1_000);
     analytics.track({ userId: "u", event: "a" }); console.log("ready");`,
  );
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const signal = await new Promise((resolve) => child.once("exit", (_, by) => resolve(by)));
  expect(signal).toBe("SIGTERM");
  expect(events(batches)).toEqual([["a"]]);
});

test("closeOnExit leaves the client open for requests that the application finishes after SIGTERM", async () => {
  const { endpoint, batches } = await listen();
  const { argv, env } = program(
    endpoint,
    `closeOnExit(analytics); const timer = setInterval(() => {}, 1_000);
     process.once("SIGTERM", () => setTimeout(() => {
       clearInterval(timer);
       analytics.track({ userId: "u", event: "of the last request" });
     }, 200));
     analytics.track({ userId: "u", event: "a" }); console.log("ready");`,
  );
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(code).toBe(0);
  expect(events(batches)).toEqual([["a"], ["of the last request"]]);
});

test("closeOnExit reports what an endpoint that is down did not get, within its limit, although the application listens, too", async () => {
  const { argv, env } = program(
    "http://127.0.0.1:1/",
    `closeOnExit(analytics, { timeoutMs: 300 }); const timer = setInterval(() => {}, 1_000);
     process.once("SIGTERM", () => clearInterval(timer));
     analytics.track({ userId: "u", event: "a" }); console.log("ready");`,
  );
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "inherit"] });
  const output = text(child.stdout);
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(code).toBe(0);
  expect(await output).toBe("ready\na closed\n");
});

test("async functions of the application that reject are lines, and end nothing", async () => {
  const { endpoint } = await listen(ok, status(400));
  const { argv, env } = program(
    endpoint,
    `const own = async () => { throw new Error("mine"); };
     const options = { endpoint: process.env.ENDPOINT, onError: own, onSuccess: own };
     const lines = [];
     const client = new Analytics("k", { ...options, debug: true, log: async (line) => { lines.push(line); await own(); } });
     for (const event of ["a", "b"]) { client.track({ userId: "u", event }); await client.flush(); }
     await client.close();
     console.log(lines.filter((line) => line.includes("threw: mine")).join("\\n"));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env });
  expect(stdout).toBe(
    "switchyard analytics: onSuccess threw: mine\nswitchyard analytics: onError threw: mine\n",
  );
});

test("closeOnExit of a dozen clients: all of them send, the process ends by the signal, and Node warns of nothing", async () => {
  const { endpoint, batches } = await listen();
  const { argv, env } = program(
    endpoint,
    `const clients = [analytics, ...Array.from({ length: 11 }, () => new Analytics("k", { endpoint: process.env.ENDPOINT }))];
     for (const each of clients) closeOnExit(each);
     const removed = new Analytics("k", { endpoint: process.env.ENDPOINT });
     closeOnExit(removed)();
     setInterval(() => {}, 1_000);
     for (const each of [...clients, removed]) each.track({ userId: "u", event: "a" });
     console.log("ready");`,
  );
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  const errors = text(child.stderr);
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const limit = setTimeout(() => child.kill("SIGKILL"), 10_000);
  const signal = await new Promise((resolve) => child.once("exit", (_, by) => resolve(by)));
  clearTimeout(limit);
  expect(signal).toBe("SIGTERM");
  expect(events(batches)).toEqual(Array.from({ length: 12 }, () => ["a"]));
  expect(await errors).toBe("");
});

const IGNORED = `
  process.on("exit", (code) => console.log("exit " + code));
  analytics.track({ userId: "u", event: "ignored" });
  const asked = analytics.track({ userId: "u", event: "asked" });
  console.log(asked instanceof Promise, await asked.then(() => "sent", ({ reason }) => reason));`;

test("a process that asks for a call stays alive until it knows; a loss that nobody asks for does not end it", async () => {
  const { endpoint } = await listen(status(400));
  const { argv, env } = program(endpoint, IGNORED);
  const options = { env: { ...env, FLUSH_AFTER: "100" } };
  const { stdout } = await promisify(execFile)(process.execPath, argv, options);
  expect(stdout).toBe("ignored rejected\nasked rejected\nfalse rejected\nexit 0\n");
});

const NAMESPACE = ["--pid", "--fork", "--kill-child"];
const NO_NAMESPACE = spawnSync("unshare", [...NAMESPACE, "true"]).status !== 0;

test("closeOnExit as the first process of a container sends what is queued, and the process ends", async ({
  skip,
}) => {
  if (NO_NAMESPACE) return skip("unshare may make no process namespace here");
  const { endpoint, batches } = await listen();
  const { argv, env } = program(
    endpoint,
    `closeOnExit(analytics); setInterval(() => {}, 1_000);
     analytics.track({ userId: "u", event: "a" }); console.log(process.pid);`,
  );
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn("unshare", [...NAMESPACE, process.execPath, ...argv], {
    env,
    stdio: [...stdio],
  });
  child.stdout?.once("data", (pid: Buffer) => {
    expect(pid.toString()).toBe("1\n");
    const [first = ""] = readFileSync(
      `/proc/${child.pid}/task/${child.pid}/children`,
      "utf8",
    ).split(" ");
    process.kill(Number(first), "SIGTERM");
  });
  const status = await new Promise((resolve) => child.once("exit", resolve));
  expect(status).toBe(128 + 15);
  expect(events(batches)).toEqual([["a"]]);
});

/** Responds like `node-fetch`: the body is a Node stream, which has no `getReader`. */
const nodeFetch: Fetch = (url, { method, headers, body }) =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const get = (name: string) => [response.headers[name]].flat()[0] ?? null;
      resolve({ status: response.statusCode ?? 0, headers: { get }, body: response });
    });
    sent.on("error", reject);
    sent.end(body);
  });
const responding =
  (body: unknown, headers: FetchResponse["headers"] = new Headers()): Fetch =>
  async (...given) => ({ ...(await nodeFetch(...given)), headers, body });

async function* failing(): AsyncGenerator<Buffer> {
  yield Buffer.from("{");
  throw new Error("cut off");
}

test.each<[string, Fetch]>([
  ["a stream of Node", nodeFetch],
  ["no body", responding(undefined)],
  ["null", responding(null)],
  ["a text", responding("{}")],
  ["a stream that fails", responding(Readable.from(failing()))],
  ["a stream that never ends", responding(new Readable({ read: () => undefined }))],
  ["a web stream that is read already", responding({ getReader: () => "locked" })],
  [
    "headers that cannot be read",
    responding(null, {
      get: () => {
        throw new Error("none");
      },
    }),
  ],
  [
    "a body that cannot be had",
    async (...given) =>
      Object.defineProperty({ ...(await nodeFetch(...given)) }, "body", {
        get: () => {
          throw new Error("used already");
        },
      }),
  ],
])(
  "a fetch that responds with %s: the status decides, and each batch is posted once",
  async (_what, fetch) => {
    const { endpoint, requests } = await listen();
    const { analytics, lost } = client(endpoint, { fetch, requestTimeoutMs: 300 });
    analytics.track({ userId: "u", event: "a" });
    await analytics.close();
    expect({ requests: requests.length, lost }).toEqual({ requests: 1, lost: [] });
  },
);

test.each([
  ["a number", 0],
  ["a list", ["0", "0"]],
  ["nothing", undefined],
])("a fetch that gives Retry-After as %s: the batch is posted again", async (_what, wait) => {
  const { endpoint, requests } = await listen();
  let responded = 0;
  const fetch: Fetch = async (...given) => {
    const response = await nodeFetch(...given);
    responded += 1;
    return responded > 1 ? response : { status: 503, headers: { get: () => wait as never } };
  };
  const { analytics, lost } = client(endpoint, { fetch });
  analytics.track({ userId: "u", event: "a" });
  await analytics.close();
  expect({ requests: requests.length, lost }).toEqual({ requests: 2, lost: [] });
});

test("a fetch that never responds, and heeds no signal, does not hold the client up", async () => {
  const fetch: Fetch = () => new Promise(() => undefined);
  const { analytics, lost } = client("http://127.0.0.1:1", {
    fetch,
    requestTimeoutMs: 20,
    attemptsMax: 1,
  });
  analytics.track({ userId: "u", event: "a" });
  await analytics.close();
  expect(lost).toMatchObject([{ reason: "attempts-exhausted" }]);
});

test("what an endpoint says about a refusal is read from a stream of Node too", async () => {
  const { endpoint } = await listen(status(401, {}, '{"message":"wrong write key"}'));
  const { analytics, lost } = client(endpoint, { fetch: nodeFetch });
  analytics.track({ userId: "u", event: "a" });
  await analytics.close();
  expect(JSON.stringify(lost)).toContain("wrong write key");
});
