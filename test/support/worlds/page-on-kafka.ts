/**
 * The program with its console on a separate Kafka, receivers that can reject, and calls, syncs and values that look
 * like scripts. There is data for everything that a view can show.
 */

import { freePort } from "../../../tools/kafka/free-port.ts";
import { startKafka } from "../../../tools/kafka/start.ts";
import { buildPage } from "../../../tools/page/build.ts";
import { startProxy } from "../../chaos/proxy.ts";
import { startReceiver } from "../kit/receiver.ts";
import { HOSTILE } from "../servers/page-views.ts";
import { programWorld } from "../servers/program.ts";
import { testKafka } from "./test-kafka.ts";

const NOWHERE = "127.0.0.1:1";
const STAGES = ["--stages", "route,audience,deletion,deliver,delay,console"];
/** A secret in a header and in the environment. It must never be shown. */
export const SECRET = "hunter2-of-the-page";

/** `good` responds 200, `down` 503 and `picky` 400, until a test changes that. */
export async function pageOnKafka() {
  await using started = new AsyncDisposableStack();
  const page = buildPage();
  const proxy = started.use(await startProxy());
  const broker = await startKafka({ private: true, fronts: [proxy.address] });
  started.defer(() => broker.stop());
  const [behind = ""] = broker.behind;
  proxy.leadTo(behind);
  const responses = new Map([
    ["good", 200],
    ["down", 503],
    ["picky", 400],
  ]);
  const receiver = await startReceiver(({ path }) => {
    return {
      status: responses.get(path.slice(1)) ?? 404,
      body: `no, because of ${HOSTILE}`,
    };
  });
  started.use(receiver);
  const admin = await freePort();
  const config = configuration([proxy.address], receiver.port, admin);
  const world = started.use(programWorld(config));
  await page;
  const program = world.start(STAGES);
  const { url } = await program.logged("console.listening");
  await program.logged("ready");
  const kafka = testKafka({ brokers: [proxy.address], sessionTimeoutMs: 6_000 });
  started.defer(() => kafka.close());
  const producer = kafka.producer();
  const write = async (topic: string, key: string, value: object) => {
    const text = Buffer.from(JSON.stringify(value));
    await producer.send([
      { topic: `switchyard.${topic}`, key: Buffer.from(key), value: text, headers: [] },
    ]);
  };
  const kept = started.move();
  return {
    ...{ config, world, program, admin, responses },
    disconnect: () => {
      proxy.leadTo(NOWHERE);
      proxy.cut();
    },
    reconnect: () => proxy.leadTo(behind),
    /** Bytes of all requests to Kafka so far. */
    asked: () => proxy.asked(),
    url: String(url),
    call: (messageId: string, userId: string, event: string = HOSTILE, more: object = {}) =>
      write("calls", userId, { type: "track", messageId, userId, event, ...more }),
    /** Writes a delivery to the queue of a destination. */
    delivery: (destination: string, userId: string) =>
      write(`deliveries.${destination}`, userId, { type: "track", userId, event: "E" }),
    sync: (syncId: string, userIds: readonly string[]) =>
      write("audience-syncs", "vip", {
        ...{ type: "snapshot", audienceId: "vip", audienceName: HOSTILE, syncId, userIds },
      }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export type PageOnKafka = Awaited<ReturnType<typeof pageOnKafka>>;

function configuration(brokers: readonly string[], port: number, admin: number): string {
  const hook = (id: string) =>
    `  - { id: ${id}, name: ${JSON.stringify(`${id} ${HOSTILE}`)}, type: webhook, sharedSecret: a-secret-of-24-characters, endpoints: [{ url: "http://127.0.0.1:${port}/${id}", headers: { X-Api-Key: ${SECRET} } }] }`;
  return `
kafka: { brokers: [${brokers.join(", ")}], partitions: 1, sessionTimeout: 6s }
defaultSource: web
sources: [{ id: web, destinations: [good, down, picky, sheet] }]
destinations:
${["good", "down", "picky"].map(hook).join("\n")}
  - { id: sheet, type: topic, name: Sheet }
audiences: [{ id: vip, integrations: { All: false, Sheet: true } }]
audienceDefaults: { approvalShare: 0.1 }
attempts: { enabled: true, responseBytes: 1KiB }
delivery: { retryDelays: [1s, 10m], allowNetworks: [127.0.0.0/8] }
admin: { host: 127.0.0.1, port: ${admin} }
console: { host: 127.0.0.1, port: 0, showPayloads: true }
`;
}
