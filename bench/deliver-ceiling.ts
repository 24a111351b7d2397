/**
 * The ceiling of `bench deliver` and `bench product`: the same requests by `undici.request`, without
 * Kafka and without Switchyard.
 *
 *   node bench/deliver-ceiling.ts <in flight> <units> <warm-up units> [--product=standard|full] <url...>
 */

import { Agent } from "undici";

import { webhookPayloads } from "./deliver-work.ts";
import { createMeter } from "./measure.ts";
import { plainRequest } from "./plain-request.ts";
import { productPayloads } from "./product-work.ts";

const args = process.argv.slice(2);
const product = args.find((word) => word.startsWith("--product="));
const [inFlight = "64", units = "0", warmUp = "0", ...urls] = args.filter(
  (word) => !word.startsWith("--"),
);
const perUrl = Number(inFlight);
const warmUpUnits = Number(warmUp);
const total = Number(units) + warmUpUnits;
const payloads =
  product === undefined
    ? webhookPayloads(1_000)
    : productPayloads(1_000, product === "--product=full");
const meter = createMeter();
let started = 0;
let done = 0;

async function caller(url: string, dispatcher: Agent): Promise<void> {
  while (started < total) {
    await plainRequest(url, dispatcher, payloads[started++ % payloads.length] ?? {});
    done += 1;
    if (done === warmUpUnits) meter.start();
  }
}

// Connections of its own for each, as destinations have, though all are at one receiver.
const callers = urls.flatMap((url) => {
  const dispatcher = new Agent({ connections: perUrl, pipelining: 1 });
  return Array.from({ length: perUrl }, () => caller(url, dispatcher));
});
await Promise.all(callers);
process.stdout.write(`${JSON.stringify(meter.stop(done - warmUpUnits))}\n`);
process.exit(0);
