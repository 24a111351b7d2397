/**
 * The work of `bench product`: calls of 1 KB as a library in a browser sends them, of which a third is
 * about the order and most of the rest about the page and the browser. `payload: full` passes that
 * on, too.
 */

export function productCall(number: number): { readonly key: string; readonly value: string } {
  const userId = `user-${(number * 7_919) % 50_000}`;
  // Calls of a backlog are of all seconds.
  const atMs = Date.UTC(2026, 10, 20, 10) + number * 137;
  const call = {
    type: "track",
    messageId: `ajs-next-${atMs}-6f1c3e0a-9a55-4b1e-8d6e-${number.toString(16).padStart(12, "0")}`,
    userId,
    anonymousId: "5f1c3e0a-9a55-4b1e-8d6e-3d1e0a3b7c11",
    event: "Order Completed",
    timestamp: iso(atMs),
    sentAt: iso(atMs + 900),
    originalTimestamp: iso(atMs - 40),
    properties: {
      orderId: `o-${number}`,
      total: (number % 997) / 10,
      currency: "EUR",
      coupon: "SPRING",
      products: [
        { sku: "a-1001", name: "Kettle", price: 32.5, quantity: 1 },
        { sku: "b-2002", name: "Café cups ☕", price: 7, quantity: 4 },
      ],
    },
    context: {
      library: { name: "analytics.js", version: "2.11.1" },
      ip: "192.0.2.1",
      locale: "de-DE",
      timezone: "Europe/Berlin",
      userAgent:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
      page: {
        path: "/checkout/done",
        referrer: "https://shop.example.com/checkout",
        search: "?step=4",
        title: "Thank you",
        url: "https://shop.example.com/checkout/done?step=4",
      },
      campaign: { name: "spring", source: "newsletter", medium: "email" },
    },
  };
  return { key: userId, value: JSON.stringify(call) };
}

/** Webhook bodies, not yet serialised, for `undici.request`. */
export function productPayloads(count: number, isFull: boolean): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const call = JSON.parse(productCall(number).value) as Record<string, unknown>;
    const { type, userId, event, properties, timestamp, ...rest } = call;
    const standard = { version: 1, type, userId, event, properties, timestamp };
    return isFull ? { ...standard, ...rest, receivedAt: timestamp } : standard;
  });
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
