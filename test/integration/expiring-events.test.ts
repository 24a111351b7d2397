// Deliveries in delay partitions of two processes come near the end of their retry window: there is one operator event
// for all of them.

import { expect, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";

const CALLS = 20;
const WAITING = 'switchyard_deliveries_awaiting_retry{destination="crm"';

test("deliveries of both expire: one event for all of them", async () => {
  const { prefix, brokers, publish, recordsIn } = useKafka("expiring");
  const { ready } = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 2, sessionTimeout: "6s" },
    destinations: { crm: "http://127.0.0.1:9/" },
    // The event is written in the last quarter of the window, in which each process checks more than once.
    delivery: { retryWindow: "29s", retryDelays: ["28s"] },
    operatorEvents: { enabled: true },
  });
  const processes = [await ready("route,deliver,delay"), await ready("route,deliver,delay")];
  await publish(CALLS);
  const everywhere = async () => {
    const waiting = await Promise.all(processes.map(({ sample }) => sample(WAITING)));
    const all = waiting.reduce((sum, count) => sum + count, 0);
    return waiting.every((count) => count > 0) && all === CALLS;
  };
  await expect.poll(everywhere).toBe(true);
  // Both processes have checked by then.
  await expect.poll(async () => (await recordsIn("dead-letters")).length).toBe(CALLS);
  const events = (await recordsIn("operator-events")).map(({ key, value }) => ({
    key: `${key}`,
    ...(JSON.parse(`${value}`) as { readonly type: string; readonly data: object }),
  }));
  expect(events).toMatchObject([
    {
      key: "deliveries.expiring/crm",
      type: "switchyard.deliveries.expiring",
      data: { count: CALLS, firstExpiresAt: expect.stringMatching(/Z$/) },
    },
  ]);
});
