/**
 * The ceiling of `bench deliver` and `bench product`: the same signed requests by `undici.request`,
 * without Kafka and without Switchyard. Body and signature are computed each time, and the response's
 * body is read.
 *
 *   node bench/deliver-ceiling.ts <in flight> <units> <warm-up units> <url> [standard|full]
 *
 * With a payload they are those of `bench product`.
 */

import { createHmac } from "node:crypto";
import { Agent, request } from "undici";

import { createMeter } from "./measure.ts";
import { benchCall, productCall, SECRET, webhookPayloads } from "./work.ts";

const [inFlight = "64", units = "0", warmUp = "0", url = "", payload] = process.argv.slice(2);
const warmUpUnits = Number(warmUp);
const total = Number(units) + warmUpUnits;
const callOf = payload === undefined ? (number: number) => benchCall(number) : productCall;
const payloads = webhookPayloads(1_000, callOf, payload === "full");
const dispatcher = new Agent({ connections: Number(inFlight), pipelining: 1 });
const meter = createMeter();
let started = 0;
let done = 0;

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
  if (response.statusCode !== 200) throw new Error(`the receiver answered ${response.statusCode}`);
}

async function caller(): Promise<void> {
  while (started < total) {
    await post(payloads[started++ % payloads.length] ?? {});
    done += 1;
    if (done === warmUpUnits) meter.start();
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, caller));
process.stdout.write(`${JSON.stringify(meter.stop(done - warmUpUnits))}\n`);
process.exit(0);
