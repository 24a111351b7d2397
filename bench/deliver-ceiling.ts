/**
 * The ceiling of `bench deliver`, `bench batch` and `bench product`: sends the same signed requests with
 * `undici.request`, without Kafka and without Switchyard. Body and signature are computed for each request, and the
 * response body is read.
 *
 *   node bench/deliver-ceiling.ts <in flight> <units> <warm-up units> <url> [single|standard|full] [calls per request]
 *
 * `standard` and `full` are the payloads of `bench product`. If the number of calls per request is given, the body is a
 * list of calls.
 */

import { createHmac } from "node:crypto";
import { Agent, request } from "undici";

import { createMeter } from "./measure.ts";
import { benchCall, productCall, SECRET, webhookPayloads } from "./work.ts";

const [inFlight = "64", units = "0", warmUp = "0", url = "", payload = "single", calls = ""] =
  process.argv.slice(2);
const warmUpUnits = Number(warmUp);
const total = Number(units) + warmUpUnits;
const callOf = payload === "single" ? (number: number) => benchCall(number) : productCall;
/** Null if the body is a single call. */
const batchCalls = calls === "" ? null : Number(calls);
const payloads = webhookPayloads(1_000, callOf, payload === "full");
const dispatcher = new Agent({ connections: Number(inFlight), pipelining: 1 });
const meter = createMeter();
let started = 0;
let done = 0;
/** The number of units that were done before the measured part. */
let marked: number | null = null;

async function post(content: object): Promise<void> {
  const body = Buffer.from(JSON.stringify(content));
  const response = await request(url, {
    method: "POST",
    dispatcher,
    headers: {
      "User-Agent": "Switchyard/1.0",
      "Content-Type": "application/json",
      "X-Signature": createHmac("sha1", SECRET).update(body).digest("hex"),
    },
    body,
  });
  await response.body.text();
  if (response.statusCode !== 200) throw new Error(`the receiver responded ${response.statusCode}`);
}

async function caller(): Promise<void> {
  while (started < total) {
    const first = started;
    started += batchCalls ?? 1;
    const bodyOf = (at: number) => payloads[at % payloads.length] ?? {};
    await post(
      batchCalls === null
        ? bodyOf(first)
        : Array.from({ length: batchCalls }, (_, at) => bodyOf(first + at)),
    );
    done += batchCalls ?? 1;
    if (marked === null && done >= warmUpUnits) {
      marked = done;
      meter.start();
    }
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, caller));
process.stdout.write(`${JSON.stringify(meter.stop(done - (marked ?? 0)))}\n`);
process.exit(0);
