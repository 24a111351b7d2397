// Deliveries in delay partitions of two processes come near the end of their retry window: there is one operator event
// for all of them.

import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { programWorld } from "../support/servers/program.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const POLL = { timeout: 90_000, interval: 250 };
const CALLS = 20;
/** The event is written in the last quarter of the window, in which each process checks more than once. */
const WINDOW = "{ retryWindow: 29s, retryDelays: [28s], allowNetworks: [127.0.0.0/8] }";
const WAITING = /^switchyard_deliveries_awaiting_retry\{destination="crm".*\} (\d+)$/m;

test("deliveries of both expire: one event for all of them", async () => {
  const { prefix, brokers, kafka, recordsIn } = ownTopics("expiring");
  const start = async () => {
    const admin = await freePort();
    const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, sessionTimeout: 6s }
sources: [{ id: web, destinations: [crm] }]
defaultSource: web
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "http://127.0.0.1:9/" }] }
delivery: ${WINDOW}
operatorEvents: { enabled: true }
admin: { host: 127.0.0.1, port: ${admin} }
`);
    onTestFinished(() => world[Symbol.asyncDispose]());
    const program = world.start(["--stages", "route,deliver,delay"]);
    await program.logged("ready");
    return async (metric: RegExp) => {
      const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
      return Number(metric.exec(text)?.[1] ?? 0);
    };
  };
  const processes = [await start(), await start()];
  const seen = (metric: RegExp) => Promise.all(processes.map((metricOf) => metricOf(metric)));
  const producer = kafka.producer();
  await producer.send(
    Array.from({ length: CALLS }, (_, number) => {
      const call = { type: "track", userId: `u-${number}`, event: "E", messageId: `m-${number}` };
      const value = Buffer.from(JSON.stringify(call));
      return { topic: `${prefix}calls`, key: Buffer.from(call.userId), value, headers: [] };
    }),
  );
  const everywhere = async () => {
    const waiting = await seen(WAITING);
    const all = waiting.reduce((sum, count) => sum + count, 0);
    return waiting.every((count) => count > 0) && all === CALLS;
  };
  await expect.poll(everywhere, POLL).toBe(true);
  // Both processes have checked by then.
  await expect.poll(async () => (await recordsIn("dead-letters")).length, POLL).toBe(CALLS);
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
}, 200_000);
