/**
 * Whatever is sent, there is never a 5xx and never a crash. Every call with the response 200 is in the topic once, and
 * no other calls are. `npm run fuzz:ingest` sends 100,000 requests and checks memory.
 */

import { Agent, request } from "node:http";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";

import { CALL_TYPES } from "../../src/domain/call.ts";
import { parseCall } from "../../src/domain/parse-call.ts";
import type { Producer } from "../../src/kafka/port.ts";
import { CALL_MAX_BYTES } from "../../src/router/ingest/read-body.ts";
import { anyJson, anyValue, nearCall, validCall } from "../support/build/generated-calls.ts";
import { ingestWorld, KEY } from "../support/worlds/ingest-world.ts";

const REQUESTS = Number(process.env.SWITCHYARD_FUZZ_REQUESTS ?? 5_000);
/** The number of requests in flight. */
const AT_A_TIME = 16;

interface Fuzzed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it is sent. */
  readonly body: Buffer;
  /** The body before compression; null if the compressed body is invalid. */
  readonly plain: Buffer | null;
}

/** A number that marks a call, so that it can be found in the topic. */
let marks = 0;
function marked(call: unknown): unknown {
  if (typeof call !== "object" || call === null || Array.isArray(call)) return call;
  marks += 1;
  return { ...call, messageId: `mark-${marks}` };
}

const basic = (user: string) => `Basic ${Buffer.from(`${user}:`).toString("base64")}`;
const token = fc.stringMatching(/^[a-zA-Z-]{1,20}$/);
const headerValue = fc.stringMatching(/^[!-~]{0,40}$/);
const odd = <T>(usual: T, ...others: fc.Arbitrary<T>[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, ...others);

const calls = fc.array(fc.oneof({ weight: 3, arbitrary: validCall }, nearCall, anyJson), {
  maxLength: 6,
});
const batch = fc
  .tuple(
    calls,
    fc.record({ context: anyJson, integrations: anyJson, sentAt: anyJson }, { requiredKeys: [] }),
  )
  .map(([all, beside]) =>
    Buffer.from(JSON.stringify({ ...beside, batch: all.map(marked), writeKey: KEY })),
  );
const single = fc
  .oneof(validCall, nearCall)
  .map((call) => Buffer.from(JSON.stringify(marked({ ...call, writeKey: KEY }))));
const large = fc
  .tuple(
    fc.integer({ min: 1, max: 300_000 }),
    fc.constantFrom(" ", "[", '{"a":', '{"batch":[', "0,", "é"),
  )
  .map(([size, piece]) => Buffer.from(piece.repeat(Math.ceil(size / piece.length))));
const corrupt = fc.tuple(batch, fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
  const changed = Buffer.from(bytes);
  changed[at % changed.length] = byte;
  return changed;
});
const body = fc.oneof(
  { weight: 6, arbitrary: batch },
  { weight: 3, arbitrary: single },
  { weight: 2, arbitrary: corrupt },
  { weight: 1, arbitrary: large },
  { weight: 1, arbitrary: anyValue.map((value) => value ?? Buffer.alloc(0)) },
);

const fuzzed: fc.Arbitrary<Fuzzed> = fc
  .record({
    method: odd("POST", fc.constantFrom("GET", "PUT", "OPTIONS", "DELETE", "HEAD")),
    path: fc.oneof(
      {
        weight: 8,
        arbitrary: fc.constantFrom(
          "/v1/batch",
          "/v1/import",
          "//v1/batch/",
          ...CALL_TYPES.map((type) => `/v1/${type}`),
        ),
      },
      fc.stringMatching(/^\/[!-~]{0,30}$/),
    ),
    authorization: odd(basic(KEY), headerValue, fc.string().map(basic), fc.constant("")),
    encoding: fc.constantFrom("", "", "gzip", "GZIP", "broken", "br", "identity"),
    more: fc.dictionary(token, headerValue, { maxKeys: 3 }),
    body,
  })
  .map(({ method, path, authorization, encoding, more, body: plain }) => {
    const isPacked = /^gzip$/i.test(encoding);
    const packed =
      encoding === "broken" ? Buffer.concat([gzipSync(plain).subarray(0, -9), plain]) : plain;
    const ours: Record<string, string> = {
      "content-encoding": encoding === "broken" ? "gzip" : encoding,
    };
    if (authorization !== "") ours.authorization = authorization;
    return {
      method,
      path,
      headers: { ...safe(more), ...ours },
      body: isPacked ? gzipSync(plain) : packed,
      plain: encoding === "broken" ? null : plain,
    };
  });

/** Removes headers that change the framing of the request, which are tested with raw sockets. */
function safe(headers: Readonly<Record<string, string>>): Record<string, string> {
  const framing =
    /^(content-length|transfer-encoding|connection|expect|upgrade|te|trailer|host|keep-alive)$/i;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !framing.test(name)));
}

function send(port: number, agent: Agent, { method, path, headers, body: bytes }: Fuzzed) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request({
      port,
      agent,
      method,
      path,
      headers: { ...headers, "content-length": bytes.length },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(bytes);
  });
}

/** Returns the message IDs that must be in the topic if the response is 200. */
function acceptedOf({ path, plain }: Fuzzed): string[] {
  if (plain === null) return [];
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain));
  } catch {
    return [];
  }
  const [, type] = /^\/v1\/(identify|track|page|screen|group|alias)$/.exec(path) ?? [];
  const all =
    type === undefined ? (json as { batch?: unknown }).batch : [{ ...(json as object), type }];
  return (Array.isArray(all) ? all : []).flatMap((call: unknown) => {
    const parsed = parseCall(call);
    const isSmall = Buffer.byteLength(JSON.stringify(call)) <= CALL_MAX_BYTES;
    const id = parsed.kind === "call" ? parsed.call.messageId : null;
    return isSmall && id !== null ? [id] : [];
  });
}

/** Accepts everything, and stores only the message IDs of the calls. */
function keepingIds() {
  const ids: string[] = [];
  const producer: Producer = {
    send: async (records) => {
      await new Promise(setImmediate);
      for (const { value } of records) ids.push(`${JSON.parse(`${value}`).messageId}`);
      return [];
    },
    close: () => Promise.resolve(),
  };
  return { producer, ids };
}

const repeated = (ids: readonly string[]) => ids.filter((id, at) => ids.indexOf(id) !== at);
const heapMib = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1_048_576;
};

test(`${REQUESTS} requests of every kind`, { timeout: 3_600_000 }, async () => {
  const { producer, ids } = keepingIds();
  await using world = await ingestWorld({}, 1_048_576, producer);
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });
  const statuses = new Map<number, number>();
  let accepted = 0;
  let heapAtFirstMib = 0;
  for (let seed = 0; seed * AT_A_TIME < REQUESTS; seed += 1) {
    const round = fc.sample(fuzzed, { numRuns: AT_A_TIME, seed });
    const responses = await Promise.all(round.map((one) => send(world.stage.port, agent, one)));
    const owed: string[] = [];
    for (const [at, { status, text }] of responses.entries()) {
      const one = round[at];
      if (one === undefined) continue;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const what = `seed ${seed}: ${one.method} ${one.path} ${JSON.stringify(one.headers)}`;
      expect([200, 400, 401, 404, 405, 413, 429], what).toContain(status);
      if (one.method !== "HEAD")
        expect(JSON.parse(text), what).toMatchObject({ success: status === 200 });
      if (status === 200 && one.method === "POST") owed.push(...acceptedOf(one));
    }
    expect(owed.filter((id) => !ids.includes(id))).toEqual([]);
    expect(repeated(ids.filter((id) => id.startsWith("mark-")))).toEqual([]);
    accepted += owed.length;
    ids.length = 0;
    if (seed * AT_A_TIME < REQUESTS / 4) heapAtFirstMib = heapMib();
  }
  agent.destroy();
  expect(accepted).toBeGreaterThan(REQUESTS / 10);
  for (const status of [200, 400, 401, 404, 405]) expect(statuses.get(status)).toBeGreaterThan(0);
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
  // Without --expose-gc, which the long run uses, garbage is included.
  const slackMib = globalThis.gc === undefined ? 100 : 10;
  expect(heapMib()).toBeLessThan(heapAtFirstMib + slackMib);
});
