// A broker is killed under load, with the ingest stage in a separate process: calls with the response 200 are in the
// topic, clients get a `Retry-After`, and the stage recovers without a restart.

import { Agent, request } from "node:http";
import { setTimeout as timer } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { ingestProcess } from "../support/servers/ingest-process.ts";
import { callsTopic, KEY } from "../support/worlds/ingest-on-kafka.ts";

let broker: PrivateKafka;
beforeAll(async () => {
  broker = await startKafka({ private: true });
});
afterAll(() => broker?.stop());

const authorization = `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`;
const CONNECTIONS = 32;

interface Responded {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: unknown;
}

function post(port: number, agent: Agent, batch: readonly object[]): Promise<Responded> {
  return new Promise((resolve, reject) => {
    const options = { port, agent, method: "POST", path: "/v1/batch", headers: { authorization } };
    const sent = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject).on("end", () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, retryAfter: headers["retry-after"], body: JSON.parse(text) });
      });
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ batch }));
  });
}

/** Clients that send one batch after another, and repeat each batch until it is accepted, like real clients. */
function startLoad(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const acknowledged: string[] = [];
  const refusals: Responded[] = [];
  const looks = new Set<() => void>();
  let isOver = false;
  let batches = 0;
  const caller = async () => {
    while (!isOver) {
      batches += 1;
      const number = batches;
      const batch = Array.from({ length: 20 }, (_, at) => ({
        type: "track",
        event: "e",
        userId: `u${number % 50}`,
        messageId: `m${number}-${at}`,
      }));
      for (let isTaken = false; !(isTaken || isOver); ) {
        const responded = await post(port, agent, batch);
        isTaken = responded.status === 200;
        if (isTaken) acknowledged.push(...batch.map(({ messageId }) => messageId));
        else refusals.push(responded);
        for (const look of [...looks]) look();
        if (!isTaken) await timer(Number(responded.retryAfter) * 1_000);
      }
    }
  };
  const callers = Promise.all(Array.from({ length: CONNECTIONS }, caller));
  return {
    acknowledged,
    refusals,
    until: (isTrue: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isTrue()) return;
          looks.delete(look);
          resolve();
        };
        looks.add(look);
        look();
      }),
    stop: async () => {
      isOver = true;
      await callers;
      agent.destroy();
    },
  };
}

test("a broker killed under load: calls are rejected while it is down, accepted when it is back, and none is lost", async () => {
  await using calls = await callsTopic("outage", broker.brokers);
  const port = await freePort();
  const { prefix } = calls;
  const process = await ingestProcess({
    brokers: `${broker.brokers}`,
    prefix,
    port,
    handover: "0s",
  });
  onTestFinished(() => process.kill("SIGKILL"));
  const load = startLoad(port);
  await load.until(() => load.acknowledged.length > 5_000);

  await broker.kill();
  // Requests in flight wait for 7 s, and later requests are rejected immediately.
  await load.until(() => load.refusals.length > 2 * CONNECTIONS);
  const takenBefore = load.acknowledged.length;
  await broker.restart();
  await load.until(() => load.acknowledged.length > takenBefore + 5_000);
  await load.stop();

  for (const { status, retryAfter, body } of load.refusals) {
    expect([429, 503]).toContain(status);
    expect(retryAfter).toMatch(/^([1-9]|[12]\d|30)$/);
    expect(body).toMatchObject({
      success: false,
      code: status === 503 ? "kafka-unavailable" : "overloaded",
    });
  }
  await calls.taker.until(() => {
    const written = new Set(calls.values().map(({ messageId }) => messageId));
    return load.acknowledged.every((id) => written.has(id));
  });
  process.kill("SIGTERM");
  expect(await process.ended).toBe(0);
});
