/** The work of `bench avro`: a usual call of a shop, as JSON and as Avro. */

import avro from "avsc";

import type { KnownSchemas } from "../src/domain/known-schemas.ts";
import { compileSchema } from "../src/registry/compile.ts";
import type { Schemas } from "../src/registry/port.ts";

const SCHEMA_ID = 7;

const text = ["null", "string"];
const record = (name: string, fields: readonly (readonly [string, unknown])[]) => ({
  type: "record" as const,
  name,
  fields: fields.map(([field, type]) => ({ name: field, type })),
});
const SCHEMA = record("Call", [
  ["type", { type: "enum", name: "Type", symbols: ["identify", "track", "page"] }],
  ["messageId", text],
  ["userId", text],
  ["anonymousId", text],
  ["event", text],
  ["timestamp", { type: "long", logicalType: "timestamp-millis" }],
  ["properties", { type: "map", values: ["null", "string", "long", "double", "boolean"] }],
  [
    "context",
    record("Context", [
      ["ip", text],
      ["userAgent", text],
      ["locale", text],
      [
        "page",
        record(
          "Page",
          ["url", "path", "title", "referrer"].map((name) => [name, text]),
        ),
      ],
    ]),
  ],
]);
const TYPE = avro.Type.forSchema(SCHEMA as Parameters<typeof avro.Type.forSchema>[0], {
  wrapUnions: "always",
});
const READER = compileSchema({ type: "AVRO", text: JSON.stringify(SCHEMA), references: [] });

export interface BenchForms {
  readonly key: Buffer;
  readonly json: Buffer;
  readonly avro: Buffer;
}

/** The JSON is what route makes of the Avro: both say the same. */
export function benchForms(number: number): BenchForms {
  const userId = `user-${(number * 7_919) % 50_000}`;
  const s = (string: string) => ({ string });
  const order = `${number}`.padStart(8, "0");
  const value = TYPE.toBuffer({
    type: "track",
    messageId: s(`5f0c3d56-1b1c-4c39-9a05-0c29${order}`),
    userId: s(userId),
    anonymousId: s(`a6b7c8d9-1b1c-4c39-9a05-7d8b${order}`),
    event: s("Order Completed"),
    timestamp: 1_767_225_600_000 + number * 37,
    properties: {
      orderId: s(`o-${order}`),
      total: { double: (number % 9_973) / 100 },
      currency: s("EUR"),
      items: { long: number % 17 },
      coupon: null,
      first: { boolean: number % 2 === 0 },
      category: s("shoes"),
      brand: s("Acme Corporation"),
      sku: s(`SKU-0000-1234-${order}`),
      note: s("Leave it with the neighbours if nobody opens, and ring twice: the bell is quiet."),
    },
    context: {
      ip: s(`192.0.2.${number % 256}`),
      userAgent: s(
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
      ),
      locale: s("de-DE"),
      page: {
        url: s(`https://shop.example.com/checkout/complete?order=${order}`),
        path: s("/checkout/complete"),
        title: s("Thank you for your order"),
        referrer: s("https://shop.example.com/checkout/payment"),
      },
    },
  });
  if (READER.kind === "refused") throw new Error(READER.error);
  const read = READER.read(value);
  if (read.kind === "refused") throw new Error(read.error);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(SCHEMA_ID, 1);
  return { key: Buffer.from(userId), json: read.bytes, avro: Buffer.concat([frame, value]) };
}

/** A registry whose one schema is known. */
export function benchSchemas(): Schemas {
  const known: KnownSchemas = { get: (ref) => (ref === SCHEMA_ID ? READER : null) };
  return {
    ...known,
    ready: () => Promise.reject(new Error("there is only one schema")),
    troubles: () => [],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
