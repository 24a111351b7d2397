// `audience publish` is killed while it writes, with the real program on a real Kafka. The written records are a sync
// without `end`: their users become members, and nobody is removed. The next publication abandons this sync and is
// complete.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { isJsonObject, type JsonObject } from "../../src/domain/json.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";

/** This many IDs take twenty records. They are written first, in the order of IDs. */
const FRESH = Array.from({ length: 20_000 }, (_, index) => `fresh-${index}-${"x".repeat(500)}`);
const FORMER = Array.from({ length: 1_000 }, (_, index) => `user-${index}`);
const STAYING = FORMER.slice(0, 600);

const textOf = (ids: readonly string[]) => ids.map((id) => `${id}\n`).join("");

test.each([
  ["as soon as it has begun", 1],
  ["in the middle of its members", 3],
])("killed %s: nobody is removed, and the next publication is complete", async (_, recordsMin) => {
  const { prefix, brokers, recordsIn, writtenTo } = useKafka("publish-crash");
  const world = useProgram({
    kafka: { brokers, topicPrefix: prefix },
    destinations: {},
    audienceDefaults: { source: "web" },
  });
  const program = await world.ready("audience");
  const file = join(world.directory, "users.txt");
  const command = ["audience", "publish", "--name", "VIP", "--file", file];
  const jsonOf = async (topic: string) =>
    (await recordsIn(topic)).map(({ value }) => JSON.parse(`${value}`) as JsonObject);
  const members = async () => {
    const { out } = await world.inProcess(["audience", "members", "vip"]);
    return new Set(out.split("\n").filter((id) => id !== ""));
  };
  /** Returns the users for whom a call was sent because they left. */
  const removed = async () =>
    (await jsonOf("calls")).flatMap(({ userId, traits }) =>
      isJsonObject(traits) && traits.vip === false ? [String(userId)] : [],
    );
  const sizeIs = async (size: number) => {
    await expect.poll(async () => (await members()).size).toBe(size);
  };

  writeFileSync(file, textOf(FORMER));
  expect(await world.inProcess(command)).toMatchObject({ status: 0 });
  await sizeIs(FORMER.length);
  const count = () => writtenTo("audience-syncs");
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

  expect(await world.inProcess(command)).toMatchObject({ status: 0 });
  await sizeIs(STAYING.length + FRESH.length);
  expect((await removed()).toSorted()).toEqual(FORMER.slice(600).toSorted());
  expect(program.lines.filter(({ msg }) => msg === "audience.sync.ended")).toMatchObject([
    { outcome: "complete" },
    { outcome: "abandoned" },
    { outcome: "complete" },
  ]);
});
