/**
 * One contestant of `bench client`: makes calls that stay in the queue, and measures the CPU for making them and the
 * memory for keeping them.
 *
 *   node --expose-gc bench/client-work.ts <ours | segment> <calls> <warm-up calls>
 *
 * `extra.heldBytes` is the number of bytes that a queued call adds to heap and buffers, measured after a garbage
 * collection.
 */

import { Analytics as SegmentAnalytics } from "@segment/analytics-node";

import { Analytics } from "../src/sdk/client/index.ts";
import { createMeter } from "./measure.ts";

interface Library {
  track(number: number): void;
}

const [name = "", calls = "0", warmUp = "0"] = process.argv.slice(2);
const collect = globalThis.gc;
if (collect === undefined) throw new Error("run this with --expose-gc");

/** With fewer calls than either library collects for a request, no request is made. */
const CALLS_PER_CLIENT = 750;

const noRequest = (): never => {
  throw new Error("no request was to be made: the calls must stay queued");
};

function ours(): Library {
  const analytics = new Analytics("key", {
    flushAt: 2 * CALLS_PER_CLIENT,
    flushAfter: 3_600_000,
    fetch: noRequest,
    onError: noRequest,
  });
  return { track: (number) => void analytics.track(trackCall(number)) };
}

function segment(): Library {
  const analytics = new SegmentAnalytics({
    writeKey: "key",
    flushAt: 2 * CALLS_PER_CLIENT,
    flushInterval: 3_600_000,
    httpClient: noRequest,
  });
  analytics.on("error", noRequest);
  analytics.on("http_request", noRequest);
  return { track: (number) => void analytics.track(trackCall(number)) };
}

/** Creates a new object for each call, as applications do. */
function trackCall(number: number) {
  return {
    userId: `user-${number}`,
    event: "Order Completed",
    properties: {
      orderId: `order-${number}`,
      total: number / 100,
      currency: "EUR",
      coupon: null,
      products: [
        { sku: `sku-${number % 1_000}`, name: "A product of some kind", price: 12.5, quantity: 2 },
        { sku: `sku-${number % 777}`, name: "Another product", price: 99, quantity: 1 },
      ],
    },
    context: {
      ip: "203.0.113.7",
      userAgent: `Mozilla/5.0 (X11; Linux) ${number}`,
      locale: "en-GB",
    },
  };
}

/** Makes calls in slices, like a server: between two slices, the event loop runs the code of the library. */
async function make(clients: readonly Library[]): Promise<void> {
  for (const [index, client] of clients.entries()) {
    const from = index * CALLS_PER_CLIENT;
    for (let number = from; number < from + CALLS_PER_CLIENT; number += 1) {
      client.track(number);
      if (number % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function heldBytes(): number {
  collect?.();
  collect?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const newClient = name === "ours" ? ours : segment;
const clientsFor = (calls: number) =>
  Array.from({ length: Math.ceil(calls / CALLS_PER_CLIENT) }, newClient);
const warm = clientsFor(Number(warmUp));
await make(warm);
const clients = clientsFor(Number(calls));
const before = heldBytes();
const meter = createMeter();
meter.start();
await make(clients);
const count = clients.length * CALLS_PER_CLIENT;
const measured = meter.stop(count);
await new Promise((resolve) => setTimeout(resolve, 200));
const extra = { heldBytes: (heldBytes() - before) / count };
// The clients are used after the measurement, so that none of them can be collected before it.
process.stderr.write(`(${warm.length + clients.length} clients) `);
process.stdout.write(`${JSON.stringify({ ...measured, extra })}\n`);
process.exit(0);
