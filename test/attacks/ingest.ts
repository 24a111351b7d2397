/**
 * Attacks of clients on a running ingest stage. Each attack checks whether an honest client still gets responses.
 */

import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import type { AttackRow } from "./attack-row.ts";

export interface IngestTarget {
  /** Plain HTTP, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** The write key of a source, for the honest client and for attackers who know it. */
  readonly writeKey: string;
}

const MIB = 1_048_576;

export async function ingestAttacks(target: IngestTarget): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const attack of ATTACKS) rows.push(await attack(target));
  return rows;
}

const ATTACKS: readonly ((target: IngestTarget) => Promise<AttackRow>)[] = [
  wrongKeys,
  noKeys,
  manyTinyCalls,
  lyingGzip,
  brokenBatches,
  fiveTogether,
  idleConnections,
  noHost,
  drippingBody,
];

/** 216 clients with a wrong key in HTTP Basic, each of which sends 300 KB of a body that does not end. */
async function wrongKeys(target: IngestTarget): Promise<AttackRow> {
  const name = "216 bodies with a wrong key in the header";
  return await withHalfBodies(target, name, `Authorization: ${basic("wrong")}\r\n`);
}

async function noKeys(target: IngestTarget): Promise<AttackRow> {
  return await withHalfBodies(target, "216 bodies without a key in the header", "");
}

async function withHalfBodies(
  target: IngestTarget,
  name: string,
  headers: string,
): Promise<AttackRow> {
  const bytes = Buffer.alloc(300_000, " ");
  const head = `POST /v1/batch HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: 400000\r\n\r\n`;
  await using open = await connections(target, 216);
  await Promise.all(open.sockets.map((socket) => written(socket, head, bytes)));
  const honest = await honestResponses(target, 5);
  const seen = `honest callers got ${honest.join(", ")}`;
  return { name, expected: "honest callers get 200", seen, ok: isAll(honest, 200) };
}

/** Sends 10 KB that decompress to 3.4 million calls. */
async function manyTinyCalls(target: IngestTarget): Promise<AttackRow> {
  const body = gzipSync(`{"batch":[${"[],".repeat(3_400_000)}[]]}`);
  const responses = await Promise.all(Array.from({ length: 4 }, () => post(target, body)));
  const statuses = responses.map(({ status }) => status);
  const name = `${body.length} bytes of gzip with 3.4 million calls`;
  const seen = `${statuses.join(", ")} after ${slowest(responses)} ms`;
  return { name, expected: "413", seen, ok: isAll(statuses, 413) };
}

/** The size at the end of the gzip is 20 bytes, but the parts before it are 10 MiB. */
async function lyingGzip(target: IngestTarget): Promise<AttackRow> {
  const parts = [gzipSync(`{"batch":[${" ".repeat(10 * MIB)}`), gzipSync("]}")];
  const responses = [await post(target, Buffer.concat(parts))];
  const statuses = responses.map(({ status }) => status);
  const seen = `${statuses.join(", ")} after ${slowest(responses)} ms`;
  return {
    name: "gzip that says less than it is",
    expected: "413",
    seen,
    ok: isAll(statuses, 413),
  };
}

/** Bodies whose `batch` is not JSON, or was not the first time. */
async function brokenBatches(target: IngestTarget): Promise<AttackRow> {
  const batches = ["NaN", '"a\u0001b"', '[{"a":NaN}],"batch":{}', '[{},{"a":nonsense}],"batch":7'];
  const bodies = batches.map((batch) => gzipSync(`{"batch":${batch}}`));
  const responses = await Promise.all(bodies.map((body) => post(target, body)));
  const statuses = responses.map(({ status }) => status);
  const ok = isAll(statuses, 400);
  return { name: "batches that are not JSON", expected: "400", seen: statuses.join(", "), ok };
}

/**
 * Five clients repeatedly send the most expensive bodies. Meanwhile, one honest client sends one call after the other,
 * and gets more responses than the four whose bodies are decompressed completely: it does not wait for them.
 */
async function fiveTogether(target: IngestTarget): Promise<AttackRow> {
  const statuses: number[] = [];
  let expensive = 0;
  const isOver = () => statuses.length === 100;
  const attackers = hostileBodies().map(async (body, at) => {
    while (!isOver()) {
      const response = await post(target, body).catch(() => null);
      if (response !== null && at < 4 && !isOver()) expensive += 1;
    }
  });
  while (!isOver()) statuses.push(await honest(target));
  await Promise.all(attackers);
  return {
    name: "five callers who send hostile gzip without pause",
    expected: "100 honest callers get 200, before as many hostile ones get a response",
    seen: `${statuses.filter((status) => status === 200).length} got 200, and ${expensive} hostile ones a response`,
    ok: isAll(statuses, 200) && expensive < statuses.length,
  };
}

/**
 * Returns one body for each of five clients. The bodies are small when compressed, and expensive to decompress or to
 * parse.
 */
export function hostileBodies(): readonly Buffer[] {
  const calls = (count: number) => `{"batch":[${"[],".repeat(count)}[]]}`;
  // The random text keeps the ratio below the limit.
  const text = randomBytes(85_000).toString("base64");
  return [
    gzipSync(`{"batch":[{"text":"${text}",${'"userId":1.5e30,'.repeat(600_000)}"a":1}]}`),
    gzipSync(calls(3_400_000)),
    gzipSync(calls(340_000)),
    Buffer.concat([gzipSync(calls(3_400_000)), gzipSync(" ")]),
    gzipSync(`{"batch":[${" ".repeat(130_000)}`),
  ];
}

/** Opens connections without sending anything. */
async function idleConnections(target: IngestTarget): Promise<AttackRow> {
  await using _open = await connections(target, 300);
  const statuses = await honestResponses(target, 5);
  return {
    name: "300 idle connections",
    expected: "honest callers get 200",
    seen: `honest callers got ${statuses.join(", ")}`,
    ok: isAll(statuses, 200),
  };
}

async function noHost(target: IngestTarget): Promise<AttackRow> {
  const text = await rawResponse(target, "GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n");
  const responses = text.match(/HTTP\/1\.1 \d{3}/g) ?? [];
  return {
    name: "a request without Host",
    expected: "one response, 400",
    seen: responses.join(", "),
    ok: responses.length === 1 && responses[0] === "HTTP/1.1 400",
  };
}

/** Sends one byte every 100 ms. */
async function drippingBody(target: IngestTarget): Promise<AttackRow> {
  const startedAtMs = performance.now();
  await using open = await connections(target, 1);
  const [socket] = open.sockets;
  if (socket === undefined) throw new Error("no connection");
  const head = `POST /v1/batch HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic(target.writeKey)}\r\nContent-Length: 100000\r\n\r\n`;
  socket.write(head);
  const drip = setInterval(() => socket.write(" "), 100);
  const text = await ended(socket, 60_000);
  clearInterval(drip);
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0);
  return {
    name: "a body of ten bytes a second",
    expected: "408, long before the body's end",
    seen: `${text.slice(9, 12) || "no response"} after ${seconds} s`,
    ok: text.startsWith("HTTP/1.1 408"),
  };
}

function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:`).toString("base64")}`;
}

function isAll(statuses: readonly number[], status: number): boolean {
  return statuses.every((one) => one === status);
}

function slowest(responses: readonly { readonly ms: number }[]): string {
  return Math.max(...responses.map(({ ms }) => ms)).toFixed(0);
}

interface Responded {
  readonly status: number;
  readonly ms: number;
}

async function post({ url, writeKey }: IngestTarget, gzip: Buffer): Promise<Responded> {
  const startedAtMs = performance.now();
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization: basic(writeKey), "content-encoding": "gzip" },
    body: new Uint8Array(gzip),
  });
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - startedAtMs };
}

/** Returns the status of the response. */
async function honest({ url, writeKey }: IngestTarget): Promise<number> {
  const response = await fetch(`${url}/v1/track`, {
    method: "POST",
    headers: { authorization: basic(writeKey) },
    body: JSON.stringify({ userId: "honest", event: "Attack" }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function honestResponses(target: IngestTarget, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 1) statuses.push(await honest(target));
  return statuses;
}

interface OpenConnections extends AsyncDisposable {
  readonly sockets: readonly Socket[];
}

async function connections({ url }: IngestTarget, count: number): Promise<OpenConnections> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connect({ host: hostname, port: Number(port || 80) });
          // For some attacks, a refused or closed connection is the expected result.
          socket.on("error", () => resolve(socket));
          socket.once("connect", () => resolve(socket));
        }),
    ),
  );
  return {
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await pause(50);
    },
  };
}

/** Resolves when everything is sent, or when the connection has accepted no bytes for a second. */
async function written(socket: Socket, ...parts: readonly (string | Buffer)[]): Promise<void> {
  const sent = Promise.all(
    parts.map((part) => new Promise<void>((resolve) => socket.write(part, () => resolve()))),
  );
  await Promise.race([sent, pause(1_000)]);
}

async function rawResponse(target: IngestTarget, text: string): Promise<string> {
  await using open = await connections(target, 1);
  const [socket] = open.sockets;
  if (socket === undefined) return "";
  socket.write(text);
  return await ended(socket, 10_000);
}

/** Returns the bytes that were read until the other side closed the connection. */
function ended(socket: Socket, limitMs: number): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    const limit = setTimeout(() => resolve(text), limitMs);
    socket.once("close", () => {
      clearTimeout(limit);
      resolve(text);
    });
  });
}
