/**
 * Two processes that deliver to `crm` and `other` on a real Kafka, a receiver that can refuse, and a
 * ledger of all that was published.
 */

import { onTestFinished } from "vitest";

import { createKafka } from "../../../src/kafka/kafka.ts";
import type { Producer } from "../../../src/kafka/port.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import { SteeredReceiver } from "../../steer/receiver.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { type ProgramWorld, programWorld } from "../servers/program.ts";

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");

export const STAGES = ["--stages", "route,deliver,delay"];

/** Ends with the test. */
export async function steeredPrograms() {
  const prefix = uniquePrefix("steering");
  const kafka = createKafka(
    {
      ...{ brokers, clientId: "steering-test", tls: null, sasl: null, sessionTimeoutMs: 6_000 },
      recordMaxBytes: () => 1_048_576,
    },
    createLog("error", { write: () => undefined }),
  );
  const producer = kafka.producer();
  const receiver = new SteeredReceiver();
  await receiver.start();
  onTestFinished(async () => {
    await producer.close(1_000);
    const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
    await kafka.admin.deleteTopics(names);
    await kafka.close();
    await receiver[Symbol.asyncDispose]();
  });
  /** @param more sections of its configuration */
  const worldOf = (admin: number, delays: string, more = ""): ProgramWorld => {
    const world = programWorld(configuration(prefix, receiver.port, admin, delays) + more);
    onTestFinished(() => world[Symbol.asyncDispose]());
    return world;
  };
  const twoProcesses = async (delays: string) => {
    const ports = [await freePort(), await freePort()] as const;
    const world = worldOf(ports[0], delays);
    const second = worldOf(ports[1], delays);
    // The first one makes the topics.
    const programs = [world.start(STAGES)];
    await programs[0]?.logged("ready");
    programs.push(second.start(STAGES));
    await programs[1]?.logged("ready");
    return { world, second, ports, programs };
  };
  /** Everything in a topic of the prefix, as headers. */
  const headersIn = async (name: string): Promise<readonly Readonly<Record<string, string>>[]> => {
    const topic = prefix + name;
    const found: Record<string, string>[] = [];
    for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
      const { signal } = new AbortController();
      const range = { topic, partition, from: first, to: end, maxBytes: 1_048_576, signal };
      for await (const records of kafka.read(range)) {
        for (const { headers } of records) {
          found.push(Object.fromEntries(headers.map(([key, value]) => [key, `${value}`])));
        }
      }
    }
    return found;
  };
  return { prefix, receiver, worldOf, twoProcesses, headersIn, ...load(producer, prefix) };
}

function configuration(prefix: string, port: number, admin: number, delays: string): string {
  const hook = (id: string) =>
    `  - { id: ${id}, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${port}/${id}" }] }`;
  return `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2, sessionTimeout: 6s }
defaultSource: web
sources: [{ id: web, destinations: [crm, other] }]
destinations:
${["crm", "other"].map(hook).join("\n")}
delivery: { allowNetworks: [127.0.0.0/8], delays: [${delays}] }
admin: { host: 127.0.0.1, port: ${admin} }
`;
}

/** Publishes. The ledger has message ids by user, in order. */
function load(producer: Producer, prefix: string) {
  const ledger: { readonly id: string; readonly user: string }[] = [];
  const publish = async (count: number, users = 7) => {
    const records = Array.from({ length: count }, () => {
      const [id, user] = [`m${ledger.length}`, `u${ledger.length % users}`];
      ledger.push({ id, user });
      const call = { type: "track", userId: user, event: "e", messageId: id };
      const value = Buffer.from(JSON.stringify(call));
      return { topic: `${prefix}calls`, key: Buffer.from(user), value, headers: [] };
    });
    await producer.send(records);
  };
  return { ledger, publish };
}

export const inOrder = (all: readonly { readonly id: string; readonly user: string }[]) =>
  Object.fromEntries(
    [...Map.groupBy(all, ({ user }) => user)]
      .map(([user, of]) => [user, of.map(({ id }) => id)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
