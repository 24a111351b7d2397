/**
 * Two processes that deliver to `crm` and `other` on a real Kafka, a receiver that can reject, and a ledger of all
 * published calls.
 */

import { onTestFinished } from "vitest";

import type { Producer } from "../../../src/kafka/port.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import { ControlledReceiver } from "../../control/receiver.ts";
import { type ProgramWorld, programWorld } from "../servers/program.ts";
import { ownTopics } from "./own-topics.ts";

export const STAGES = ["--stages", "route,deliver,delay"];

/** Everything ends with the test. */
export async function controlledPrograms() {
  const { prefix, brokers, kafka, recordsIn } = ownTopics("control");
  const producer = kafka.producer();
  const receiver = new ControlledReceiver();
  await receiver.start();
  onTestFinished(async () => {
    await producer.close(1_000);
    await receiver[Symbol.asyncDispose]();
  });
  /** @param more additional sections of the configuration */
  const worldOf = (admin: number, delays: string, more = ""): ProgramWorld => {
    const world = programWorld(
      configuration({ prefix, brokers, port: receiver.port, admin, delays }) + more,
    );
    onTestFinished(() => world[Symbol.asyncDispose]());
    return world;
  };
  const twoProcesses = async (delays: string) => {
    const ports = [await freePort(), await freePort()] as const;
    const world = worldOf(ports[0], delays);
    const second = worldOf(ports[1], delays);
    // The first process creates the topics.
    const programs = [world.start(STAGES)];
    await programs[0]?.logged("ready");
    programs.push(second.start(STAGES));
    await programs[1]?.logged("ready");
    return { world, second, ports, programs };
  };
  /** The headers of all records in a topic with the prefix. */
  const headersIn = async (name: string): Promise<readonly Readonly<Record<string, string>>[]> => {
    const records = await recordsIn(name);
    return records.map(({ headers }) =>
      Object.fromEntries(headers.map(([key, value]) => [key, `${value}`])),
    );
  };
  const own = { prefix, kafka, receiver, worldOf, twoProcesses, headersIn };
  return { ...own, ...load(producer, prefix) };
}

interface Given {
  readonly prefix: string;
  readonly brokers: readonly string[];
  /** Port of the receiver. */
  readonly port: number;
  readonly admin: number;
  readonly delays: string;
}

function configuration({ prefix, brokers, port, admin, delays }: Given): string {
  const hook = (id: string) =>
    `  - { id: ${id}, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${port}/${id}" }] }`;
  return `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2, sessionTimeout: 6s }
defaultSource: web
sources: [{ id: web, destinations: [crm, other] }]
destinations:
${["crm", "other"].map(hook).join("\n")}
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [${delays}] }
admin: { host: 127.0.0.1, port: ${admin} }
`;
}

/** Publishes calls. The ledger has message IDs by user, in order. */
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
