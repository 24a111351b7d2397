// Five endpoints, with retries and restarts: a rejection is final, an endpoint that accepted gets no further request,
// and each process continues where the previous one stopped.

import { expect, test } from "vitest";

import type { WebhookDestination } from "../../../../src/router/destinations/webhook/settings.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const NAMES = ["a", "b", "c", "d", "e"] as const;
type Script = Readonly<Record<(typeof NAMES)[number], readonly ScriptedResponse[]>>;

const urlOf = (name: string) => `http://${name}.test/`;

/** Each endpoint sends its responses one after the other, and repeats the last one. */
function worldOf(deliver: WebhookDestination["deliver"], script: Script) {
  return new DeliverWorld({
    destinations: [webhookDestination({ urls: NAMES.map(urlOf), deliver })],
    respond: ({ url }, earlier) => {
      const responses =
        NAMES.flatMap((name) => (url === urlOf(name) ? [script[name]] : []))[0] ?? [];
      return responses[Math.min(earlier, responses.length - 1)] ?? 200;
    },
  });
}

/** Runs both stages for this time, and stops them. */
async function process(world: DeliverWorld, ms: number): Promise<void> {
  world.kafka = world.cluster.connect();
  const deliver = await world.startDeliver();
  const delay = await world.startDelay();
  await world.settle(ms);
  const stopping = Promise.all([deliver[Symbol.asyncDispose](), delay[Symbol.asyncDispose]()]);
  await world.settle(20_000);
  await stopping;
}

function requests(world: DeliverWorld): Record<string, number> {
  const counted = NAMES.map((name) => {
    return [name, world.http.sent.filter(({ url }) => url === urlOf(name)).length] as const;
  });
  return Object.fromEntries(counted);
}

test("any: those that rejected are omitted for good, and one that accepts ends it", async () => {
  const world = worldOf("any", {
    a: [404],
    b: [503, 422],
    c: [503],
    d: ["reset"],
    e: [503, 503, 200],
  });
  world.append();
  await process(world, 1_000);
  expect(requests(world)).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 1 });
  await process(world, 15_000);
  expect(requests(world)).toEqual({ a: 1, b: 2, c: 2, d: 2, e: 2 });
  await process(world, 5 * HOUR_MS);
  expect(requests(world)).toEqual({ a: 1, b: 2, c: 3, d: 3, e: 3 });
  expect(world.deadLetters()).toEqual([]);
});

test("any: when the last one rejects too, it is a dead letter", async () => {
  const world = worldOf("any", { a: [404], b: [503, 422], c: [400], d: [301], e: [503, 503, 405] });
  world.append();
  await process(world, 1_000);
  await process(world, 5 * HOUR_MS);
  expect(requests(world)).toEqual({ a: 1, b: 2, c: 1, d: 1, e: 3 });
  expect(world.deadLetters()).toMatchObject([{ "switchyard-reason": "rejected" }]);
});

test("every: each endpoint goes its own way, and only it is asked again", async () => {
  const world = worldOf("every", {
    a: [200],
    b: [404],
    c: [503, 200],
    d: ["refused"],
    e: ["reset", 503, 200],
  });
  world.append();
  await process(world, 1_000);
  expect(requests(world)).toEqual({ a: 1, b: 1, c: 1, d: 1, e: 1 });
  await process(world, 15_000);
  await process(world, 60_000);
  await process(world, 5 * HOUR_MS);
  const { d = 0, ...others } = requests(world);
  expect(others).toEqual({ a: 1, b: 1, c: 2, e: 3 });
  expect(d).toBeGreaterThanOrEqual(3);
  expect(world.deadLetters()).toMatchObject([
    { "switchyard-reason": "rejected", "switchyard-endpoint": expect.stringMatching(/^2,/) },
    { "switchyard-reason": "expired", "switchyard-endpoint": expect.stringMatching(/^4,/) },
  ]);
});
