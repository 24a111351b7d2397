// Audiences on a real Kafka with stores on a real disk: syncs, restarts with a store that is missing, damaged, outdated
// or from another cluster, and a process that is killed at any time.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Kafka as KafkajsClient, logLevel } from "kafkajs";
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFailed,
  onTestFinished,
  test,
} from "vitest";
import { createPrng } from "../support/clock/prng.ts";
import { AudienceOnKafka } from "../support/worlds/audience-kafka.ts";

const ROOT = join(import.meta.dirname, "../..");

let world: AudienceOnKafka;
beforeEach(async () => {
  world = new AudienceOnKafka();
  await world.create();
});
afterEach(() => world.close());

const users = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `user-${from + index}`);

const short = ({ userId, value }: { userId: string; value: unknown }) => `${userId} ${value}`;

test("a sync, the same again, another one, a trait, a delete", async () => {
  const stage = await world.start();
  await world.sync("VIP", "s1", users(0, 3_000));
  await world.settled();
  const first = await world.reported();
  expect(first).toHaveLength(3_000);
  expect(new Set(first.map(({ messageId }) => messageId)).size).toBe(3_000);
  await world.sync("VIP", "s2", users(0, 3_000).reverse());
  await world.settled();
  expect(await world.reported()).toHaveLength(3_000);
  await world.sync("VIP", "s3", users(2, 3_002));
  await world.settled();
  expect((await world.reported(3_000)).map(short)).toEqual([
    "user-3000 true",
    "user-3001 true",
    "user-0 false",
    "user-1 false",
  ]);
  await world.write([
    { type: "trait", userId: "user-0", traitName: "Plan", value: "pro" },
    { type: "trait", userId: "user-0", traitName: "Plan", value: "pro" },
    { type: "delete", audienceId: "VIP" },
  ]);
  await world.settled();
  const rest = await world.reported(3_004);
  expect(rest[0]).toMatchObject({ userId: "user-0", trait: "plan", value: "pro" });
  expect(rest.slice(1).every(({ trait, value }) => trait === "vip" && value === false)).toBe(true);
  expect(rest).toHaveLength(3_001);
  await stage.stop();
});

test("partitions are added to both topics while the stage runs: all audiences go on", async () => {
  const stage = await world.start();
  const ids = ["A", "B", "C", "D", "E", "F"];
  for (const id of ids) await world.sync(id, "s1", users(0, 3));
  await world.settled();
  const { audienceSyncs, audienceMembers } = world.topics;
  const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
  const admin = new KafkajsClient({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const topicPartitions = [audienceMembers, audienceSyncs].map((topic) => ({ topic, count: 3 }));
  await admin.createPartitions({ topicPartitions });
  await admin.disconnect();
  const isSpread = async () => {
    await world.write([{ type: "trait", userId: randomUUID(), traitName: "Plan", value: "pro" }]);
    const offsets = await world.kafka.admin.offsets(audienceSyncs);
    return offsets.filter(({ end }) => end > 0).length;
  };
  await expect.poll(isSpread, { interval: 200 }).toBe(3);
  for (const id of ids) await world.sync(id, "s2", users(1, 4));
  const members = async () =>
    (await world.reported(18)).filter(({ trait }) => trait !== "plan").length;
  await expect.poll(members).toBe(2 * ids.length);
  expect((await world.kafka.admin.offsets(world.topics.deadLetters))[0]?.end).toBe(0);
  await stage.stop();
});

describe("after a restart with a store that is", () => {
  const store = () => join(world.directory, "0");

  /** Makes a sync, stops, runs `meanwhile`, and then makes a sync without new users. */
  async function restart(meanwhile: () => Promise<void>): Promise<string> {
    const before = await world.start();
    await world.sync("A", "s1", users(0, 500));
    await world.settled();
    await before.stop();
    await meanwhile();
    const after = await world.start();
    await world.sync("A", "s2", users(0, 500));
    await world.sync("A", "s3", users(10, 510));
    await world.settled();
    await after.stop();
    const reported = await world.reported();
    expect(reported.slice(0, 500).every(({ value }) => value === true)).toBe(true);
    expect(reported.slice(500).map(short)).toEqual([
      ...users(500, 510).map((user) => `${user} true`),
      ...users(0, 10).map((user) => `${user} false`),
    ]);
    const opened = after.lines.find(({ storeState }) => storeState !== undefined);
    return String(opened?.storeState);
  }

  test("as it was: it is used", async () => {
    expect(await restart(() => Promise.resolve())).toBe("current");
  });

  test("gone: it is rebuilt, and nothing is reported twice", async () => {
    expect(await restart(() => rm(store(), { recursive: true }))).toBe("missing");
  });

  test("corrupt: the same", async () => {
    const found = await restart(async () => {
      for (const name of await readdir(store())) {
        if (/^(?:CURRENT|MANIFEST)/.test(name)) await truncate(join(store(), name), 3);
      }
    });
    expect(found).toBe("corrupt");
  });

  test("another cluster's: the same", async () => {
    const other = new AudienceOnKafka();
    await other.create();
    const stage = await other.start();
    await other.sync("A", "x1", users(400, 450));
    await other.settled();
    await stage.stop();
    const found = await restart(async () => {
      await rm(store(), { recursive: true });
      await cp(join(other.directory, "0"), store(), { recursive: true });
    });
    await other.close();
    expect(found).toBe("foreign");
  });

  test("behind, because another process went on: it catches up", async () => {
    const before = await world.start();
    await world.sync("A", "s1", users(0, 500));
    await world.settled();
    await before.stop();
    const other = await world.start(`${world.directory}-other`);
    await world.sync("A", "s2", users(100, 600));
    await world.settled();
    await other.stop();
    const after = await world.start();
    await world.sync("A", "s3", users(100, 600));
    await world.sync("A", "s4", users(100, 601));
    await world.settled();
    await after.stop();
    await rm(`${world.directory}-other`, { recursive: true });
    expect(after.lines.find(({ storeState }) => storeState !== undefined)?.storeState).toBe(
      "behind",
    );
    expect((await world.reported(700)).map(short)).toEqual(["user-600 true"]);
  });
});

test("a topic of syncs that is deleted and recreated: who entered and left is reported", async () => {
  const before = await world.start();
  await world.sync("A", "s1", users(0, 3_000));
  await world.settled();
  await before.stop();
  await world.makeSyncsAnew();
  const after = await world.start();
  // The new topic has fewer records than the first one.
  await world.sync("A", "s2", users(2, 3_002), 3_000);
  await world.settled();
  await after.stop();
  expect((await world.reported(3_000)).map(short)).toEqual([
    "user-3000 true",
    "user-3001 true",
    "user-0 false",
    "user-1 false",
  ]);
  const noticed = ({ lines }: typeof after) =>
    lines.filter(({ msg }) => msg === "audience.topic.recreated").length;
  expect([before, after].map(noticed)).toEqual([0, 1]);
});

test("a forgotten user is nowhere on disk any more", async () => {
  const stage = await world.start();
  await world.sync("A", "s1", ["keep-me", "forget-me", "keep-me-too"]);
  await world.write([
    { type: "trait", userId: "forget-me", traitName: "Plan", value: "pro" },
    { type: "forget", userId: "forget-me" },
  ]);
  await world.settled();
  await stage.stop();
  const store = join(world.directory, "0");
  const data = (await readdir(store)).filter((name) => /\.(?:ldb|log)$|^LOG/.test(name));
  const texts = await Promise.all(data.map((name) => readFile(join(store, name), "latin1")));
  expect(texts.some((text) => text.includes("keep-me"))).toBe(true);
  expect(data.filter((_, index) => texts[index]?.includes("forget-me"))).toEqual([]);
  expect([...(await world.changelog())].filter(([key]) => key.includes("forget-me"))).toEqual([]);

  const again = await world.start();
  await world.sync("A", "s2", ["keep-me", "keep-me-too"]);
  await world.settled();
  await world.sync("A", "s3", ["keep-me", "keep-me-too", "forget-me"]);
  await world.settled();
  await again.stop();
  const reported = (await world.reported()).filter(({ userId }) => userId === "forget-me");
  expect(reported.map(({ trait, value }) => [trait, value])).toEqual([
    ["a", true],
    ["plan", "pro"],
    ["a", true],
  ]);
});

test("killed at any moment of a sync and started again: every user's last call is correct", async () => {
  const seed = Date.now() % 2 ** 31;
  onTestFailed(() => {
    process.stderr.write(`seed ${seed}\n`);
  });
  const random = createPrng(seed);
  const directory = world.directory;
  await mkdir(directory, { recursive: true });
  const config = join(directory, "switchyard.yaml");
  await writeFile(
    config,
    JSON.stringify({
      kafka: {
        brokers: (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(","),
        topicPrefix: world.prefix,
        partitions: 1,
        sessionTimeout: "6s",
      },
      sources: [{ id: "web" }],
      defaultSource: "web",
      audience: { stateDir: join(directory, "state") },
      admin: { host: "127.0.0.1", port: 0 },
    }),
  );
  const members = users(0, 20_000);
  const next = users(5_000, 25_000);
  let running = startProgram(config);
  await running.logged("audience.store.opened");
  await world.sync("A", "s1", members);
  await world.sync("A", "s2", next);
  for (let kill = 0; kill < 3; kill += 1) {
    await running.logged("audience.store.opened");
    // The process is killed some calls later, wherever that is.
    const already = (await world.reported()).length;
    const more = random.integer(0, 12_000);
    while ((await world.reported(already)).length < more && !(await isDone())) {}
    running.child.kill("SIGKILL");
    await running.ended;
    if (kill === 1) await rm(join(directory, "state"), { recursive: true });
    running = startProgram(config);
  }
  await world.settled();
  // Everything may have been done before the last kill, and this process may have just started.
  await running.logged("ready");
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);

  const reported = await world.reported();
  const last = new Map(reported.map(({ userId, value }) => [userId, value]));
  const isMember = new Set(next);
  expect(last.size).toBe(25_000);
  expect([...last].filter(([user, value]) => value !== isMember.has(user))).toEqual([]);
  const ids = new Map<string, string>();
  for (const each of reported) {
    const said = ids.get(each.messageId);
    expect(said === undefined || said === short(each)).toBe(true);
    ids.set(each.messageId, short(each));
  }
  // There is one true for each of 25,000 users, and one false for each of 5,000. All other calls are repetitions.
  expect(ids.size).toBe(30_000);

  async function isDone(): Promise<boolean> {
    return (await world.reported()).some(
      ({ userId, value }) => userId === "user-4999" && value === false,
    );
  }
});

function startProgram(config: string) {
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const child = spawn(
    process.execPath,
    [join(ROOT, "src/main.ts"), "run", "-c", config, "--stages", "audience"],
    { env, stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  createInterface({ input: child.stdout }).on("line", (text) => {
    const { msg } = JSON.parse(text) as { readonly msg: string };
    const name = msg === "audience.store.rebuilding" ? "audience.store.opened" : msg;
    seen.add(name);
    waiting.get(name)?.();
  });
  const ended = once(child, "close").then(([status]) => status as number | null);
  const logged = (msg: string): Promise<void> =>
    seen.has(msg) ? Promise.resolve() : new Promise((resolve) => waiting.set(msg, resolve));
  return { child, ended, logged };
}
