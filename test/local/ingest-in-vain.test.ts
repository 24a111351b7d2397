// Bodies from which nothing is accepted: the responses are delayed, and therefore the clients.

import { connect } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import type { Producer } from "../../src/kafka/port.ts";
import { startIngest } from "../../src/router/ingest/stage.ts";
import { hostileBodies } from "../attacks/ingest.ts";
import { aSource } from "../support/build/calls.ts";
import { suppressing } from "../support/build/suppressions.ts";
import { parsedLog } from "../support/log/parsed-log.ts";
import { INGEST_LIMITS } from "../support/worlds/ingest-limits.ts";

const KEY = "web-key";
const authorization = `Basic ${btoa(`${KEY}:`)}`;

/** Starts the stage. Its delays are listed, and end when the test ends them. */
async function ingest() {
  const waits: { readonly ms: number; readonly end: () => void }[] = [];
  const clock = {
    ...systemClock,
    sleep: (ms: number) => new Promise<void>((end) => waits.push({ ms, end })),
  };
  const producer: Producer = { send: async () => [], close: () => Promise.resolve() };
  const base = { log: parsedLog().log, metrics: createMetrics() };
  const stage = await startIngest(
    { ...base, suppressions: suppressing("gone"), producer, clock },
    {
      host: "127.0.0.1",
      port: 0,
      tls: null,
      corsOrigins: [],
      topic: "sw.calls",
      sources: [aSource("web", [], { writeKeys: [KEY] })],
      ...INGEST_LIMITS,
      handoverMs: 0,
      drainLimitMs: 0,
    },
  );
  const post = async (body: Buffer | string, headers = {}) => {
    const url = `http://127.0.0.1:${stage.port}/v1/batch`;
    const init = { method: "POST", headers: { authorization, ...headers } };
    const response = await fetch(url, { ...init, body: new Uint8Array(Buffer.from(body)) });
    await response.arrayBuffer();
    return response.status;
  };
  const waited = () => expect.poll(() => waits.length).toBeGreaterThan(0);
  return { waits, waited, post, port: stage.port, [Symbol.asyncDispose]: () => end(stage) };
}

const end = (stage: AsyncDisposable) => stage[Symbol.asyncDispose]();
const gzip = { "content-encoding": "gzip" };

test.each([
  ...hostileBodies().map((body, at) => [`hostile gzip ${at + 1}`, body, gzip] as const),
  ["no gzip", "{}", gzip],
  ["no JSON", "{", {}],
  ["a list", "[]", {}],
  ["an unknown write key in the body", '{"batch":[],"writeKey":"no"}', { authorization: "" }],
  ["a batch without calls", '{"batch":[]}', {}],
  ["a batch of what are no calls", '{"batch":[[],{}]}', {}],
] as const)("the response waits: %s", async (_, body, headers) => {
  await using world = await ingest();
  const status = world.post(body, headers);
  await world.waited();
  expect(world.waits.map(({ ms }) => ms)).toEqual([250]);
  world.waits[0]?.end();
  expect([200, 400, 401, 413]).toContain(await status);
});

test.each([
  ["a call", '{"batch":[{"type":"track","userId":"u","event":"e"}]}', {}, 200],
  ["a call beside others", '{"batch":[{},{"type":"track","userId":"u","event":"e"}]}', {}, 200],
  ["a suppressed user's call", '{"batch":[{"type":"track","userId":"gone","event":"e"}]}', {}, 200],
  ["a wrong key in the header", "{", { authorization: `Basic ${btoa("no:")}` }, 401],
] as const)("the response comes at once: %s", async (_, body, headers, status) => {
  await using world = await ingest();
  expect(await world.post(body, headers)).toBe(status);
});

test("a connection that sends on while its response waits is closed", async () => {
  await using world = await ingest();
  const socket = connect({ host: "127.0.0.1", port: world.port });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const head = `POST /v1/batch HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n`;
  socket.on("error", () => undefined).resume();
  socket.write(`${head}Content-Length: 1\r\n\r\n{`);
  await world.waited();
  socket.write(`${head}Content-Length: 1\r\n\r\n{`);
  await closed;
  expect(world.waits.length).toBe(1);
  expect(await world.post('{"batch":[{"type":"track","userId":"u","event":"e"}]}')).toBe(200);
});
