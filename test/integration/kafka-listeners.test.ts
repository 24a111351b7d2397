// Many destinations on one broker that is slow, disconnected or down: as many waits as there are destinations share one
// connection, or one signal. Node warns of too many listeners, and operators would see this warning.

import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { type ProgramWorld, programWorld } from "../support/servers/program.ts";
import { type FrontedKafka, frontedKafka } from "../support/worlds/fronted-kafka.ts";

const DESTINATIONS = 60;

let fronted: FrontedKafka;
let world: ProgramWorld;

beforeAll(async () => {
  fronted = await frontedKafka();
  const ids = Array.from({ length: DESTINATIONS }, (_, number) => `d${number}`);
  const destinations = ids.map((id) => ({
    ...{ id, type: "webhook", name: id },
    endpoints: [{ url: `https://${id}.example.com/` }],
  }));
  world = programWorld(
    JSON.stringify({
      kafka: { brokers: [fronted.proxy.address], partitions: 1, sessionTimeout: "6s" },
      sources: [{ id: "web", writeKey: "k", destinations: ids }],
      destinations,
      ingest: { host: "127.0.0.1", port: 0, handover: "100ms" },
      admin: { host: "127.0.0.1", port: await freePort() },
    }),
  );
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await fronted?.[Symbol.asyncDispose]();
});

test("a broker that is slow to respond, cuts connections off and stays silent: no warning on stderr", async () => {
  const { proxy } = fronted;
  proxy.hold("everything");
  const program = world.start();
  let errors = "";
  program.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  await program.logged("kafka.waiting");
  proxy.release();
  await program.logged("ready");

  // Requests of 60 groups fail at the same time, in the program and in the command.
  for (const everyMs of [250, 600]) {
    const cutting = setInterval(proxy.cut, everyMs);
    const { err } = await world.command(["status", "--kafka-timeout", "3s"]);
    clearInterval(cutting);
    expect(err).not.toContain("Warning");
  }
  proxy.hold("everything");
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(errors).toBe("");
});
