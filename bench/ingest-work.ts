/** The requests that the contestants of `bench ingest` get: calls of about 1 KB, as a shop would make them. */

export const BENCH_KEY = "bench-write-key";

export function benchBatch(from: number, calls: number): object {
  return {
    batch: Array.from({ length: calls }, (_, at) => benchCall(from + at)),
    sentAt: "2026-11-20T10:00:00.000Z",
  };
}

function benchCall(number: number): object {
  return {
    type: "track",
    messageId: `bench-${number}-0a1b2c3d4e5f`,
    userId: `user-${(number * 7_919) % 50_000}`,
    event: "Order Completed",
    timestamp: "2026-11-20T10:00:00.000Z",
    properties: {
      orderId: `order-${number}`,
      total: (number % 9_973) / 100,
      currency: "EUR",
      coupon: number % 3 === 0 ? "AUTUMN" : null,
      products: Array.from({ length: 3 }, (_, at) => ({
        sku: `sku-${(number * 31 + at * 17) % 5_000}`,
        name: `Product of the number ${(number * 31 + at * 17) % 5_000}`,
        price: ((number + at * 7) % 5_000) / 100,
        quantity: 1 + ((number + at) % 4),
        category: at === 0 ? "Games" : "Books & Stationery",
      })),
    },
    context: {
      library: { name: "@segment/analytics-node", version: "2.3.0" },
      ip: `192.0.2.${number % 256}`,
      locale: "en-GB",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
      page: {
        path: `/checkout/${number}`,
        referrer: "https://www.example.com/cart",
        title: "Checkout",
      },
    },
    integrations: { All: true, Webhooks: number % 5 !== 0 },
  };
}
