// The real program on a real Kafka, with an audience store on a separate disk that is full: only the audience stage
// stops. The problem is reported everywhere, and the stage continues without a restart when there is space.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { fillDisk, freeDisk, whyNoDisk, withDisk } from "../support/script/small-disk.ts";
import { programWorld } from "../support/servers/program.ts";
import { webhookServer } from "../support/servers/webhook-server.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const POLL = { interval: 500, timeout: 60_000 };
const TIMEOUT_MS = 170_000;

test(
  "a full disk of the audience store stops the audience stage alone, until there is room",
  async ({ skip }) => {
    const { prefix, brokers } = ownTopics("full");
    const receiver = await webhookServer();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const admin = await freePort();
    const world = programWorld((directory) => {
      mkdirSync(join(directory, "state"));
      const file = join(directory, "switchyard.yaml");
      writeFileSync(
        file,
        `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 1, replicationFactor: 1 }
sources: [{ id: web, destinations: [crm] }]
defaultSource: web
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "http://127.0.0.1:${receiver.port}/" }] }
audienceDefaults: { source: web, integrations: { All: false } }
audience: { stateDir: ${join(directory, "state")} }
delivery: { allowNetworks: [127.0.0.0/8] }
admin: { host: 127.0.0.1, port: ${admin} }
`,
      );
      return file;
    });
    onTestFinished(() => world[Symbol.asyncDispose]());
    const state = join(world.directory, "state");
    const why = whyNoDisk(state);
    if (why !== null) return skip(why);
    const program = world.start(
      ["--stages", "route,deliver,delay,audience"],
      withDisk(state, "12m"),
    );
    await program.logged("ready");
    // The path inside the program's namespace.
    const disk = join(`/proc/${program.child.pid}/root`, state);
    const users = join(world.directory, "users.txt");
    const publish = async (from: number, to: number) => {
      const ids = Array.from({ length: to - from }, (_, index) => `user-${from + index}\n`);
      writeFileSync(users, ids.join(""));
      const command = ["audience", "publish", "--name", "VIP", "--file", users];
      expect(await world.command(command)).toMatchObject({ status: 0 });
    };
    const members = async () => {
      const { out } = await world.command(["audience", "members", "vip"]);
      return out.split("\n").length - 1;
    };
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
    const unavailable = async () =>
      /^switchyard_audience_state_stores_unavailable (\d+)$/m.exec(await ask("/metrics"))?.[1];
    await publish(0, 1_000);
    await expect.poll(members, POLL).toBe(1_000);
    expect(await unavailable()).toBe("0");

    fillDisk(disk);
    await publish(0, 40_000);
    const restarting = await program.logged("stage.restarting");
    expect(restarting).toMatchObject({ stage: "audience", level: "error" });
    expect(restarting.error).toContain("No space left on device");
    await program.logged("stage.restarting", 3);
    expect(await unavailable()).toBe("1");
    expect(await ask("/readyz")).toContain("No space left on device");
    const status = await world.command(["status", "--admin", `127.0.0.1:${admin}`]);
    expect(status.out).toContain("1 state store of the audience stage cannot be used");

    const calls = join(world.directory, "calls.jsonl");
    writeFileSync(calls, '{"type":"track","userId":"u","event":"Delivered","messageId":"m-1"}\n');
    expect(await world.command(["publish", calls])).toMatchObject({ status: 0 });
    await expect
      .poll(() => receiver.taken.map(({ body }) => body).join(), POLL)
      .toContain("Delivered");
    expect(program.child.exitCode).toBeNull();

    freeDisk(disk);
    await expect.poll(members, POLL).toBe(40_000);
    await expect.poll(unavailable, POLL).toBe("0");
    await expect.poll(() => ask("/readyz"), POLL).not.toContain("No space left");
    expect(program.lines.map(({ msg }) => msg)).not.toContain("stage.failed");
  },
  TIMEOUT_MS,
);
