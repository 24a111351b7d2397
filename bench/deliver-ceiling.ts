/**
 * The ceiling of `bench deliver`, `product` and `router-isolation`: sends the same signed requests with
 * `undici.request`, without Kafka and without Switchyard. Body and signature are computed for each request, and the
 * response body is read.
 *
 *   node bench/deliver-ceiling.ts <in flight> <units> <warm-up units> <url> [single|standard|full] [destinations]
 *
 * `standard` and `full` are the payloads of `bench product`. Each destination has its own connections and the path of its ID.
 */

import { createHmac } from "node:crypto";
import { Agent, request } from "undici";

import { createMeter } from "./measure.ts";
import { benchCall, idOf, productCall, SECRET, webhookPayloads } from "./work.ts";

const [inFlight = "64", units = "0", warmUp = "0", url = "", ...rest] = process.argv.slice(2);
const [payload = "single", destinations = "1"] = rest;
const warmUpUnits = Number(warmUp);
const total = Number(units) + warmUpUnits;
const callOf = payload === "single" ? (number: number) => benchCall(number) : productCall;
const payloads = webhookPayloads(1_000, callOf, payload === "full");
const targets = Array.from({ length: Number(destinations) }, (_, at) => {
  const connections = Math.ceil(Number(inFlight) / Number(destinations));
  return { url: url + idOf(at), dispatcher: new Agent({ connections, pipelining: 1 }) };
});
const meter = createMeter();
let started = 0;
let done = 0;
/** The number of units that were done before the measured part. */
let marked: number | null = null;

type Target = (typeof targets)[number];

async function post({ url, dispatcher }: Target, content: object): Promise<void> {
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

async function caller(target: Target): Promise<void> {
  while (started < total) {
    const content = payloads[started % payloads.length] ?? {};
    started += 1;
    await post(target, content);
    done += 1;
    if (marked === null && done >= warmUpUnits) {
      marked = done;
      meter.start();
    }
  }
}

await Promise.all(
  targets.flatMap((target, at) => {
    const callers = Math.ceil((Number(inFlight) - at) / targets.length);
    return Array.from({ length: callers }, () => caller(target));
  }),
);
process.stdout.write(`${JSON.stringify(meter.stop(done - (marked ?? 0)))}\n`);
process.exit(0);
