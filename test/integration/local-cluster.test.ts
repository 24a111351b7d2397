// The cluster of `switchyard kafka up --brokers`: it is found again, repaired, and stopped.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Kafka } from "../../src/kafka/port.ts";
import { bringUp, look, placeIn, takeDown } from "../../tools/kafka/kept.ts";
import { KAFKA, kafkaService } from "../../tools/kafka/kept-services.ts";
import { PASSWORD, pem, USER } from "../../tools/kafka/security.ts";
import { record } from "../support/contract/bench.ts";
import { JAVA } from "../support/kit/java.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const never = new AbortController().signal;
const silent = () => undefined;
const CLUSTER = kafkaService(2, { tls: true, sasl: true });

const root = mkdtempSync(join(tmpdir(), "switchyard-test-"));
const place = placeIn(root, CLUSTER);
beforeAll(async () => {
  if (JAVA !== null) await bringUp(CLUSTER, place, never, silent);
});
afterAll(async () => {
  await takeDown(place, never, silent);
  rmSync(root, { recursive: true, force: true });
});

function connect(address: string): Kafka {
  const tls = { ca: pem("ca.pem"), cert: null, key: null, serverName: null };
  const sasl = { mechanism: "scram-sha-512", username: USER, password: PASSWORD } as const;
  return testKafka({ brokers: address.split(","), tls, sasl, recordMaxBytes: () => 900_000 });
}

test.skipIf(JAVA === null)(
  "a cluster with TLS and authentication is found again, and comes back whole when a broker has died (needs Java)",
  async () => {
    const before = await look(CLUSTER, place);
    expect(before).toMatchObject({ isUp: true });
    const again = await bringUp(CLUSTER, place, never, silent);
    expect(again).toEqual({ kept: before?.kept, already: true });
    const address = again.kept.address;
    const kafka = connect(address);
    const topic = { name: "t", partitions: 2, replicationFactor: 2, config: {} };
    await kafka.admin.create([topic]);
    expect(await kafka.producer().send([record("t", "value")])).toEqual([]);
    await kafka.close();

    const pids = again.kept.how === "java" ? again.kept.pids : [];
    process.kill(pids[0] ?? 0, "SIGKILL");
    await expect.poll(() => look(CLUSTER, place)).toMatchObject({ isUp: false });
    await expect(bringUp(KAFKA, place, never, silent)).rejects.toThrow("Stop it first");
    const mended = await bringUp(CLUSTER, place, never, silent);
    expect(mended.kept.address).toBe(address);
    const survivor = connect(address);
    // A leader that was just elected may not have its high watermark yet.
    const records = async () => {
      const offsets = await survivor.admin.offsets("t").catch(() => []);
      return offsets.reduce((sum, { end }) => sum + end, 0);
    };
    await expect.poll(records, { timeout: 20_000 }).toBe(1);
    await survivor.close();
  },
);
