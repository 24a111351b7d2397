// `audience publish` is killed while it writes, with the real program on a real Kafka. The written records are a sync
// without `end`: their users become members, and nobody is removed. The next publication abandons this sync and is
// complete.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { isJsonObject, type JsonObject } from "../../src/domain/json.ts";
import { programWorld } from "../support/servers/program.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const POLL = { interval: 250, timeout: 60_000 };
const TIMEOUT_MS = 180_000;
/** This many IDs take twenty records. They are written first, in the order of IDs. */
const FRESH = Array.from({ length: 20_000 }, (_, index) => `fresh-${index}-${"x".repeat(500)}`);
const FORMER = Array.from({ length: 1_000 }, (_, index) => `user-${index}`);
const STAYING = FORMER.slice(0, 600);

const textOf = (ids: readonly string[]) => ids.map((id) => `${id}\n`).join("");

test.each([
  ["as soon as it has begun", 1],
  ["in the middle of its members", 3],
])(
  "killed %s: nobody is removed, and the next publication is complete",
  async (_, recordsMin) => {
    const { prefix, brokers, kafka, recordsIn } = ownTopics("publish-crash");
    const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 1 }
sources: [{ id: web, destinations: [] }]
audienceDefaults: { source: web }
admin: { host: 127.0.0.1, port: 0 }
`);
    onTestFinished(() => world[Symbol.asyncDispose]());
    const program = world.start(["--stages", "audience"]);
    await program.logged("ready");
    const file = join(world.directory, "users.txt");
    const command = ["audience", "publish", "--name", "VIP", "--file", file];
    const jsonOf = async (topic: string) =>
      (await recordsIn(topic)).map(({ value }) => JSON.parse(`${value}`) as JsonObject);
    const members = async () => {
      const { out } = await world.command(["audience", "members", "vip"]);
      return new Set(out.split("\n").filter((id) => id !== ""));
    };
    /** Returns the users for whom a call was sent because they left. */
    const removed = async () =>
      (await jsonOf("calls")).flatMap(({ userId, traits }) =>
        isJsonObject(traits) && traits.vip === false ? [String(userId)] : [],
      );
    const sizeIs = async (size: number) => {
      await expect.poll(async () => (await members()).size, POLL).toBe(size);
    };

    writeFileSync(file, textOf(FORMER));
    expect(await world.command(command)).toMatchObject({ status: 0 });
    await sizeIs(FORMER.length);
    const count = async () => (await kafka.admin.offsets(`${prefix}audience-syncs`))[0]?.end ?? 0;
    const before = await count();

    writeFileSync(file, textOf([...STAYING, ...FRESH]));
    const child = world.spawn(command);
    const closed = once(child, "close");
    while ((await count()) < before + recordsMin) await sleep(0);
    child.kill("SIGKILL");
    await closed;
    const written = (await jsonOf("audience-syncs")).slice(before);
    expect(written[0]).toMatchObject({ type: "begin" });
    expect(written.map(({ type }) => type)).not.toContain("end");

    const came = written.flatMap(({ userIds }) => (Array.isArray(userIds) ? userIds.length : 0));
    await sizeIs(FORMER.length + came.reduce((sum, count) => sum + count, 0));
    expect(await removed()).toEqual([]);

    expect(await world.command(command)).toMatchObject({ status: 0 });
    await sizeIs(STAYING.length + FRESH.length);
    expect((await removed()).toSorted()).toEqual(FORMER.slice(600).toSorted());
    expect(program.lines.filter(({ msg }) => msg === "audience.sync.ended")).toMatchObject([
      { outcome: "complete" },
      { outcome: "abandoned" },
      { outcome: "complete" },
    ]);
  },
  TIMEOUT_MS,
);
