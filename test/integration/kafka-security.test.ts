// TLS, client certificates and every SASL mechanism, with a broker that requires them.

import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { KafkaConnection } from "../../src/kafka/port.ts";
import { PASSWORD } from "../../tools/kafka/security.ts";
import { record } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { JAVA } from "../support/kit/java.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  CERTIFICATE,
  connection,
  NO_CERTIFICATE,
  startSecuredBroker,
} from "../support/servers/secured-broker.ts";
import { consumeWith, createTopics } from "../support/worlds/test-kafka.ts";

const cleanUps: (() => unknown)[] = [];
let saslPort = 0;
let mtlsPort = 0;
let tokenUrl = "";

beforeAll(async () => {
  if (JAVA === null) return;
  const broker = await startSecuredBroker(JAVA);
  cleanUps.push(broker.stop);
  ({ saslPort, mtlsPort } = broker);
  tokenUrl = await serveTokens();
});
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/** Serves tokens without a signature, which the broker accepts by default. */
async function serveTokens(): Promise<string> {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const server = createServer((_request, response) => {
    const nowS = Math.floor(Date.now() / 1_000);
    const claims = { sub: "alice", iat: nowS, exp: nowS + 600 };
    const access_token = `${part({ alg: "none" })}.${part(claims)}.`;
    response.end(JSON.stringify({ access_token, expires_in: 600 }));
  });
  cleanUps.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/token`;
}

/** Creates a topic, writes to it, and reads from it. */
async function roundTrip(options: KafkaConnection): Promise<void> {
  const lines = new LogLines();
  const kafka = createKafka(options, lines.log);
  const topic = `t${Math.random()}`;
  await createTopics(kafka, [topic]);
  expect(await kafka.producer().send([record(topic, "value")])).toEqual([]);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consumeWith(kafka, taker, { groupId: topic, topics: [topic] });
  await taker.untilTaken(1);
  await consumer.stop();
  await kafka.close();
  // The first group of a broker may have to wait for its coordinator, which is not a rejection.
  expect(lines.seen.filter((msg) => msg !== "kafka.consumer.restarting")).toEqual([]);
}

describe.skipIf(JAVA === null)("a secured broker (needs Java)", () => {
  test.each(["plain", "scram-sha-256", "scram-sha-512"] as const)("SASL %s", async (mechanism) => {
    const sasl = { mechanism, username: "alice", password: PASSWORD };
    await roundTrip(connection(saslPort, NO_CERTIFICATE, sasl));
  });

  test("SASL oauthbearer by client credentials", async () => {
    const credentials = { tokenUrl, clientId: "c", clientSecret: "s", scope: null };
    const sasl = { mechanism: "oauthbearer", ...credentials } as const;
    await roundTrip(connection(saslPort, NO_CERTIFICATE, sasl));
  });

  test("a client certificate", async () => {
    await roundTrip(connection(mtlsPort, CERTIFICATE, null));
  });

  test.each([
    ["localhost", /^$/],
    ["kafka.example.com", /not in the cert's altnames/],
  ])("the brokers' certificates are checked for the name %s", async (serverName, problem) => {
    const tls = { ...CERTIFICATE, serverName };
    const kafka = createKafka(connection(mtlsPort, tls, null), new LogLines().log);
    const error = await kafka.admin.topics().then(
      () => "",
      (cause: unknown) => `${cause}`,
    );
    await kafka.close();
    expect(error).toMatch(problem);
  });

  test.each([
    ["no client certificate", () => connection(mtlsPort, NO_CERTIFICATE, null)],
    [
      "an authority that we do not trust",
      () => connection(mtlsPort, { ...CERTIFICATE, ca: null }, null),
    ],
    [
      "a wrong password",
      () =>
        connection(saslPort, NO_CERTIFICATE, {
          mechanism: "plain",
          username: "alice",
          password: "wrong",
        }),
    ],
  ])("%s: rejected", async (_name, options) => {
    const lines = new LogLines();
    const kafka = createKafka(options(), lines.log);
    await expect(kafka.admin.topics()).rejects.toThrow("admin.topics");
    await kafka.close();
  });

  test("a wrong password crashes a consumer instead of being tried without end", async () => {
    const sasl = { mechanism: "scram-sha-512", username: "alice", password: "wrong" } as const;
    const kafka = createKafka(connection(saslPort, NO_CERTIFICATE, sasl), new LogLines().log);
    const crashed = Promise.withResolvers<Error>();
    kafka.consume({
      groupId: "g",
      topics: ["t"],
      partitionRecordsMax: 1,
      maxBytes: 1,
      whenFull: "hold",
      drainLimitMs: 1_000,
      onAssigned: new Taker().onAssigned,
      onCrash: crashed.resolve,
    });
    expect(`${await crashed.promise}`).toMatch(/SASL SCRAM-SHA-512 authentication failed/);
    await kafka.close();
  });
});
