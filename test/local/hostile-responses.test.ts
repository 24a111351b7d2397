/**
 * Hostile responses of endpoints, over plaintext connections and TLS: each response has the right result, before any
 * deadline, and leaves nothing behind. `npm run attack:responses` tests 100,000 such responses.
 */

import { expect, test } from "vitest";

import type { SendResult } from "../../src/router/destinations/port.ts";
import { HOSTILE_RESPONSES, type HostileResponse } from "../attacks/hostile-responses.ts";
import { startHostileServer } from "../attacks/start-hostile-server.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { measureMemory } from "../support/servers/soak.ts";

const RESPONSES = Number(process.env.SWITCHYARD_HOSTILE_RESPONSES ?? 400);
const AT_A_TIME = 16;
/** The deadline for responses that only a deadline ends. The others must not come near their deadline. */
const SHORT_MS = 50;
const LONG_MS = 30_000;
/** Memory is first measured after a quarter of the responses, because code is compiled until then. */
const MEASURED_AT = [0.25, 0.5, 0.75, 1];
const GROWTH_MAX_BYTES = 8 * 1_024 * 1_024;

interface Attack {
  readonly response: HostileResponse;
  readonly post: () => Promise<SendResult>;
}

test(`${RESPONSES} hostile responses`, { timeout: 7_200_000 }, async () => {
  await using server = await startHostileServer();
  await using clients = new AsyncDisposableStack();
  const attacks = HOSTILE_RESPONSES.flatMap((response) =>
    [server.plainUrl, server.tlsUrl].map((url): Attack => {
      // No two responses use the same connection, because the rest of a response would count as part of the next one.
      const timeoutMs = response.lasts === true ? SHORT_MS : LONG_MS;
      const http = clients.use(httpClient({ timeoutMs, ca: server.ca }));
      const endpoint = endpointOf(`${url}/${response.name}`);
      return { response, post: () => http.post(endpoint) };
    }),
  );
  const wrong: string[] = [];
  const used: number[] = [];
  let given = 0;
  const giveUntil = async (end: number) => {
    while (given < end) {
      const attack = attacks[given++ % attacks.length];
      if (attack === undefined) return;
      const { name, outcomes } = attack.response;
      const seen = outcome(await attack.post());
      if (!outcomes.some((wanted) => wanted === seen)) {
        wrong.push(`${name}: ${seen} instead of ${outcomes.join(" or ")}`);
      }
    }
  };
  for (const share of MEASURED_AT) {
    await Promise.all(Array.from({ length: AT_A_TIME }, () => giveUntil(RESPONSES * share)));
    used.push((await measureMemory(given)).usedBytes);
  }
  expect(attacks.length).toBeGreaterThanOrEqual(80);
  expect(wrong).toEqual([]);
  const growth = (used.at(-1) ?? 0) - (used[0] ?? 0);
  expect(growth).toBeLessThan(GROWTH_MAX_BYTES);
});
