import fc from "fast-check";
import { test } from "vitest";
import { classifySchema } from "../../../src/registry/classify-response.ts";
import type { Exchanged } from "../../../src/registry/registry-request.ts";

const body = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record(
      {
        schema: fc.anything(),
        schemaType: fc.anything(),
        references: fc.anything(),
        error_code: fc.anything(),
      },
      { requiredKeys: [] },
    )
    .map((each) => JSON.stringify(each) ?? ""),
);

test("whatever comes has a meaning: found only by 200, unknown only by 404, and one line of a sentence", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 999 }),
      fc.string(),
      body,
      (status, contentType, text) => {
        const exchanged: Exchanged = { kind: "response", status, contentType, body: text };
        const classified = classifySchema(exchanged, "http://r:8081/schemas/ids/7", "schema 7");
        if (classified.kind === "found") return status === 200;
        if (classified.kind === "unknown") return status === 404 && text.includes("4040");
        const isOutage = [401, 407, 429].includes(status);
        const kind = isOutage ? "outage" : "unavailable";
        return classified.kind === kind && !/\p{Cc}/u.test(classified.error);
      },
    ),
  );
});

test("after an error of any code, the schema is unavailable", () => {
  fc.assert(
    fc.property(fc.option(fc.stringMatching(/^[A-Z_0-9]{1,40}$/)), (code) => {
      const classified = classifySchema({ kind: "failed", code }, "http://r:8081/", "schema 7");
      return classified.kind === "unavailable";
    }),
  );
});
