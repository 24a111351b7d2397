// A process that stops while it reads the operator actions starts no stage.

import { expect, test } from "vitest";

import type { DestinationId } from "../../../../src/domain/ids.ts";
import { configuredOperatorActions } from "../../../../src/program/run/configured-operator-actions.ts";
import { createHealth } from "../../../../src/program/run/health.ts";
import { StartInterruptedError } from "../../../../src/program/run/wait-for-cluster.ts";
import { pauseRecord } from "../../../../src/router/control/operator-actions.ts";
import { config } from "../../../support/build/config-source.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const TOPIC = "p.operator-actions";
const destination = "crm" as DestinationId;
const CONFIG = config(`
kafka: { brokers: [kafka-1:9092], topicPrefix: p. }
sources: [{ id: web, destinations: [crm] }]
destinations: [{ id: crm, type: webhook, endpoints: [{ url: "https://crm.example.com/" }] }]
`);

function world() {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(1) });
  cluster.createTopic(TOPIC, 1);
  cluster.goDown();
  const kafka = cluster.connect();
  const stopping = new AbortController();
  const { log } = parsedLog();
  const deps = { kafka, cluster: kafka.watch(), clock, log, health: createHealth([]) };
  const starting = configuredOperatorActions(CONFIG, { ...deps, signal: stopping.signal }, [
    "deliver",
  ]);
  return { clock, cluster, stopping, starting };
}

test("a signal ends the wait for brokers that do not respond", async () => {
  const { clock, stopping, starting } = world();
  const interrupted = expect(starting).rejects.toThrow(StartInterruptedError);
  await clock.advance(3_000);
  stopping.abort("SIGTERM");
  await interrupted;
});

test("a signal that comes later does not end the following of actions that are known", async () => {
  const { clock, cluster, stopping, starting } = world();
  cluster.comeUp();
  await clock.advance(3_000);
  const actions = await starting;
  stopping.abort("SIGTERM");
  cluster.append(pauseRecord(TOPIC, { destination, sinceMs: 0, by: "command", untilMs: null }));
  await clock.advance(3_000);
  expect(actions?.pauseOf(destination)).not.toBeNull();
  actions?.[Symbol.dispose]();
});
