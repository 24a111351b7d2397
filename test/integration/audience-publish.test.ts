// `audience publish` with the real program on a real Kafka: an export that failed looks like one that
// ends, and does not empty the audience.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { programWorld } from "../support/servers/program.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");
const POLL = { interval: 250, timeout: 30_000 };
const TIMEOUT_MS = 120_000;

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `user-${String(index).padStart(4, "0")}\n`).join("");

test(
  "lists that are empty, cut or lack most members are refused; forced ones are published",
  async () => {
    const { prefix, brokers, recordsIn } = ownTopics("lists");
    const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, replicationFactor: 1 }
sources: [{ id: web, destinations: [] }]
audienceDefaults: { source: web }
admin: { host: 127.0.0.1, port: ${await freePort()} }
`);
    onTestFinished(() => world[Symbol.asyncDispose]());
    const program = world.start(["--stages", "audience"]);
    await program.logged("ready");

    /** As `export | switchyard audience publish`. */
    const piped = async (text: string, ...more: readonly string[]) => {
      const command = ["audience", "publish", "--name", "VIP", "-c", world.file, ...more];
      const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
      const child = spawn(process.execPath, [BIN, ...command], { env });
      const said: string[] = [];
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => said.push(chunk));
      child.stdout.resume();
      child.stdin.end(text);
      const [status] = await once(child, "close");
      return { status: status as number | null, err: said.join("") };
    };
    const members = async () => {
      const { out } = await world.command(["audience", "members", "vip"]);
      return out.split("\n").length - 1;
    };
    const written = async () => (await recordsIn("audience-syncs")).length;

    expect(await piped("")).toMatchObject({ status: 1, err: expect.stringContaining("is empty") });
    expect(await written()).toBe(0);
    expect(await piped(lines(1_000))).toEqual({ status: 0, err: "" });
    await expect.poll(members, POLL).toBe(1_000);
    const before = await written();

    const cut = lines(900).slice(0, -3);
    const refused: readonly (readonly [string, string])[] = [
      ["", "the list is empty"],
      ["\n\n", "the list is empty"],
      [lines(499), "501 of its 1,000 members are not in the list"],
      [cut, "the line was cut"],
    ];
    for (const [text, why] of refused) {
      expect(await piped(text)).toMatchObject({ status: 1, err: expect.stringContaining(why) });
      const file = join(world.directory, "users.txt");
      writeFileSync(file, text);
      const published = ["audience", "publish", "--name", "VIP", "--file", file];
      expect(await world.command(published)).toMatchObject({ status: 1, out: "" });
    }
    expect(await written()).toBe(before);
    expect(await members()).toBe(1_000);

    expect(await piped(lines(500))).toMatchObject({ status: 0 });
    await expect.poll(members, POLL).toBe(500);
    expect(await piped(lines(10), "--force")).toMatchObject({ status: 0 });
    await expect.poll(members, POLL).toBe(10);
    expect(await piped("", "--force")).toMatchObject({ status: 0 });
    await expect.poll(members, POLL).toBe(0);
  },
  TIMEOUT_MS,
);
