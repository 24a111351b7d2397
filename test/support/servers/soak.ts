/**
 * Makes thousands of attempts that fail in every possible way, and measures what they leave behind: the open sockets on
 * both sides, and the memory in use, at equal intervals.
 */

import type { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Resolve } from "../../../src/base/http/lookup.ts";
import type { SendResult } from "../../../src/router/destinations/port.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import { issue } from "../build/certificates.ts";
import { endpointOf } from "../build/webhook-destination.ts";
import { type HttpClient, httpClient, outcome } from "./http-client.ts";
import { rawServer } from "./raw-server.ts";
import { tlsServer } from "./tls-server.ts";

export interface SoakSample {
  readonly attempts: number;
  /** Heap and external buffers after a full garbage collection. */
  readonly usedBytes: number;
  readonly residentBytes: number;
}

export interface SoakResult {
  readonly samples: readonly SoakSample[];
  /** Number of attempts by status or cause. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Connections that are still open on the servers after the client was closed. */
  readonly openSockets: number;
}

const HEAD = "HTTP/1.1 200 OK\r\n";
/** The deadline of attempts that only a deadline ends. */
const SHORT_MS = 50;
/** A connection that is still open this long after the client was closed counts as leaked. */
const CLOSED_LIMIT_MS = 30_000;

type Fault = (socket: Socket) => void;

/** The fault of the raw server, by the path of the request. */
const FAULTS: Readonly<Record<string, Fault>> = {
  "/503": (socket) => socket.write("HTTP/1.1 503 S\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
  "/503-close": (socket) => socket.end("HTTP/1.0 503 S\r\n\r\ntext"),
  "/reset": (socket) => socket.resetAndDestroy(),
  "/close": (socket) => socket.destroy(),
  "/reset-in-body": (socket) => {
    socket.write(`${HEAD}Content-Length: 9\r\n\r\nhalf`, () => socket.resetAndDestroy());
  },
  "/cut-short": (socket) => socket.end(`${HEAD}Content-Length: 9\r\n\r\nhalf`),
  "/nonsense": (socket) => socket.write("nonsense\r\n\r\n"),
  "/endless-headers": (socket) => socket.write(`${HEAD}A: ${"b".repeat(20_000)}`),
  "/endless-body": (socket) => {
    socket.write(`HTTP/1.1 500 E\r\n\r\n${"x".repeat(70_000)}`);
  },
};

const HANGING: Readonly<Record<string, Fault>> = {
  "/interim": (socket) => socket.write("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\n"),
  "/drips": (socket) => socket.write(`${HEAD}Content-Length: 9\r\n\r\nha`),
  "/silent": () => undefined,
};

/** @param sampleCount how often memory is measured; at least 2. The last measurement is at the end. */
export async function soak(
  attempts: number,
  inFlight: number,
  sampleCount: number,
): Promise<SoakResult> {
  await using server = await rawServer((socket, chunk) => {
    const [, path = ""] = chunk.split(" ", 2);
    (FAULTS[path] ?? HANGING[path])?.(socket);
  }, false);
  await using tls = await tlsServer(issue({ name: "self-signed", hosts: ["localhost"] }));
  const patient = httpClient({ resolve: resolveSome });
  const hasty = httpClient({ timeoutMs: SHORT_MS, resolve: resolveSome });
  const posts = [
    ...(await failingUrls(server.url, tls.port)).map((url) => postTo(patient, url)),
    ...hangingUrls(server.url).map((url) => postTo(hasty, url)),
  ];
  const outcomes: Record<string, number> = {};
  const samples: SoakSample[] = [];
  let made = 0;
  const makeUntil = async (end: number) => {
    while (made < end) {
      const post = posts[made++ % posts.length];
      if (post === undefined) return;
      const name = outcome(await post());
      outcomes[name] = (outcomes[name] ?? 0) + 1;
    }
  };
  for (let sample = 1; sample <= sampleCount; sample += 1) {
    const end = Math.round((attempts * sample) / sampleCount);
    await Promise.all(Array.from({ length: inFlight }, () => makeUntil(end)));
    samples.push(await measureMemory(made));
  }
  await Promise.all([patient.close(), hasty.close()]);
  const openSockets = () => server.open() + tls.open();
  // The servers detect a closed connection some turns of the event loop later, or many turns later on a busy machine.
  const limit = AbortSignal.timeout(CLOSED_LIMIT_MS);
  while (openSockets() > 0 && !limit.aborted) await turns(1);
  return { samples, outcomes, openSockets: openSockets() };
}

function postTo(http: HttpClient, url: string): () => Promise<SendResult> {
  const endpoint = endpointOf(url);
  return () => http.post(endpoint);
}

async function failingUrls(raw: string, tlsPort: number): Promise<string[]> {
  return [
    ...Object.keys(FAULTS).map((path) => raw + path),
    `http://127.0.0.1:${await freePort()}/`,
    `https://localhost:${tlsPort}/`,
    "http://nobody.invalid/",
    "http://private.example.com/",
  ];
}

function hangingUrls(raw: string): string[] {
  // The handshake never gets a response.
  return [...Object.keys(HANGING).map((path) => raw + path), raw.replace("http:", "https:")];
}

const resolveSome: Resolve = (name, found) => {
  const [address] = [{ address: name === "localhost" ? "127.0.0.1" : "10.0.0.1", family: 4 }];
  const error = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  setImmediate(() => (name === "nobody.invalid" ? found(error, []) : found(null, [address])));
};

/** Collects all garbage first. */
export async function measureMemory(attempts: number): Promise<SoakSample> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // The objects that were dropped last have to be closed first, and finalizers run between collections.
  for (let round = 0; round < 3; round += 1) {
    await turns(20);
    collect();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { attempts, usedBytes: heapUsed + external, residentBytes: rss };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((done) => setImmediate(done));
}
