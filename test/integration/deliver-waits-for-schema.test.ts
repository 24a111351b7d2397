// Another producer writes Avro to a destination's topic while the registry is down: the partition that needs the schema
// waits, the other partition and retries continue, and nothing is lost.

import { expect, test } from "vitest";

import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { MessageId } from "../../src/domain/ids.ts";
import { encoded, framed } from "../support/build/avro.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import { registryStandIn, respondWithJson } from "../support/servers/registry-stand-in.ts";
import { useProgramWithRegistry } from "../support/worlds/program-with-registry.ts";

/** More records than a partition may have in flight, so that the consumer would have to stop its fetch loop. */
const COUNT = 600;
const CALL = {
  type: "record",
  name: "Call",
  fields: ["type", "user_id", "event"].map((name) => ({ name, type: "string" })),
};

test("a partition waits for a schema; the destination's other partitions and its retries continue", async () => {
  let isUnavailable = true;
  await using registry = await registryStandIn((_request, response) => {
    if (isUnavailable)
      respondWithJson(response, 503, { error_code: 50_001, message: "unavailable" });
    else respondWithJson(response, 200, { schema: JSON.stringify(CALL) });
  });
  const program = await useProgramWithRegistry("waits-for-schema", registry.url);
  const send = (topic: string, partition: number, ids: readonly string[], value: Buffer) => {
    const delivery = (id: string) =>
      deliveryOf({ messageId: id as MessageId, receivedAtMs: Date.now() });
    const records = ids.map((id) => ({ partition, value, headers: deliveryHeaders(delivery(id)) }));
    return program.write(topic, records);
  };
  const named = (name: string) => Array.from({ length: COUNT }, (_, at) => `${name}-${at}`);
  const missing = (...ids: readonly string[]) => ids.filter((id) => !program.arrived.has(id));
  const json = Buffer.from('{"type":"track","userId":"u","event":"E"}');

  const avro = framed(7, encoded(CALL, { type: "track", user_id: "u", event: "E" }));
  await send("deliveries.hook", 0, named("avro"), avro);
  await expect.poll(() => registry.asked.length).toBeGreaterThan(1);
  await send("deliveries.hook", 1, named("beside"), json);
  await send("retries.hook", 0, ["comes-back"], json);
  await expect.poll(() => missing(...named("beside"), "comes-back")).toEqual([]);
  expect(missing(...named("avro"))).toHaveLength(COUNT);
  // This still holds when more is written, and when retries also have to wait.
  await send("retries.hook", 0, ["comes-back-as-avro"], avro);
  await send("deliveries.hook", 1, ["later"], json);
  await expect.poll(() => missing("later")).toEqual([]);
  expect(missing("comes-back-as-avro")).toHaveLength(1);

  isUnavailable = false;
  await expect.poll(() => missing(...named("avro"), "comes-back-as-avro")).toEqual([]);
});
