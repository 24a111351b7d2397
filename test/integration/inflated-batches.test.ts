// Batches of a few kilobytes that decompress to hundreds of megabytes, with all codecs, in the real program: it runs
// under a memory limit of the system, dead-letters the large records, and delivers the others. If it is killed in the
// middle of such a batch, it loses nothing, and repeats what was not committed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../tools/kafka/free-port.ts";
import { headerTexts } from "../support/build/calls.ts";
import { encodeBatch } from "../support/build/record-batches.ts";
import { rawProduce } from "../support/kafka-client/raw-produce.ts";
import { BROKERS, useKafka } from "../support/kit/kafka.ts";
import { testConnection } from "../support/worlds/test-kafka.ts";

const ROOT = join(import.meta.dirname, "../..");
const MEBI = 1024 * 1024;
/**
 * Limit of the program's data, used or reserved: Node reserves 560 MiB at its start and uses little of it. The system
 * rejects more, which ends a program.
 */
const SYSTEM_LIMIT_KIB = (512 + 560) * 1024;
/** Limit of the memory in use. */
const RSS_KIB_MAX = 350 * 1024;
const connection = testConnection({ clientId: "inflated", recordMaxBytes: () => MEBI });

/** As much as a batch below 1 MiB can contain. */
const CODECS = [
  ["gzip", 1, 200],
  ["snappy", 2, 16],
  ["lz4", 3, 200],
  ["zstd", 4, 300],
] as const;
const ROUNDS = 3;

const call = (id: string) => ({
  ...{ key: Buffer.from(id), headers: [] },
  value: Buffer.from(
    JSON.stringify({ type: "identify", userId: id, messageId: id, writeKey: "k" }),
  ),
});

/** Writes a call, a record that is much too large, and another call. */
async function bomb(codec: number, mebibytes: number, id: string): Promise<Buffer> {
  const headers = [["trace", Buffer.from(id)] as const];
  const blanks = { key: Buffer.from(id), value: Buffer.alloc(mebibytes * MEBI, " "), headers };
  return encodeBatch([call(`${id}-before`), blanks, call(`${id}-after`)], { compression: codec });
}

const TOPICS = ["calls", "deliveries.store", "dead-letters"];

/** The batches have times in 2023, so brokers would delete them at their next check. */
const spec = (name: string) => ({
  ...{ name, partitions: 2, replicationFactor: 1 },
  config: { "retention.ms": "-1" },
});

function configuration(prefix: string, port: number): string {
  return `
kafka: { brokers: [${BROKERS.join(", ")}], topicPrefix: ${prefix}, partitions: 2, sessionTimeout: 6s }
sources: [{ id: web, writeKey: k, destinations: [store] }]
destinations: [{ id: store, type: topic, name: Store }]
ingest: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: ${port} }
`;
}

function startLimited(config: string) {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-inflated-"));
  const file = join(directory, "switchyard.yaml");
  writeFileSync(file, config);
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const main = `exec "${process.execPath}" "${join(ROOT, "src/main.ts")}" run -c "${file}" --stages route`;
  const child = spawn("bash", ["-c", `ulimit -d ${SYSTEM_LIMIT_KIB} && ${main}`], {
    ...{ env, cwd: directory },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "close").then(([status]) => status as number | null);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true });
  });
  return { child, ended };
}

test("a flood of them costs the large records alone, and little memory", async () => {
  const { prefix, kafka, recordsIn } = useKafka("inflated", { connection });
  const port = await freePort();
  const calls = `${prefix}calls`;
  await kafka.admin.create(TOPICS.map((name) => spec(prefix + name)));
  const ids: string[] = [];
  for (const [name, codec, mebibytes] of CODECS) {
    const batch = await bomb(codec, mebibytes, name);
    expect(batch.length).toBeLessThan(MEBI);
    for (let round = 0; round < ROUNDS; round += 1) {
      ids.push(name);
      await rawProduce(connection, calls, round % 2, batch);
    }
  }
  const { child, ended } = startLimited(configuration(prefix, port));
  const done = async () =>
    (await recordsIn("deliveries.store")).length >= 2 * ids.length &&
    (await recordsIn("dead-letters")).length >= ids.length;
  await expect.poll(done, { interval: 500 }).toBe(true);

  const deadLetters = await recordsIn("dead-letters");
  expect(deadLetters.map(({ key }) => `${key}`).toSorted()).toEqual(ids.toSorted());
  for (const { value, key, headers } of deadLetters) {
    const said = new Map(headers.map(([name, text]) => [name, `${text}`]));
    expect(value).toBeNull();
    expect(said.get("trace")).toBe(`${key}`);
    expect(said.get("switchyard-reason")).toBe("too-large");
    expect([said.get("switchyard-topic"), said.has("switchyard-offset")]).toEqual([calls, true]);
  }
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const peakKib = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]);
  expect(peakKib).toBeGreaterThan(0);
  expect(peakKib).toBeLessThan(RSS_KIB_MAX);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

const ZSTD = 4;
/** The size of a call that the topic accepts. A part contains 4 MiB of calls. */
const CALL_BYTES = 700_000;
const BATCHES = 2;

/**
 * Calls without an ID. A call is identified by its position: its kind is the offset modulo the length of the pattern.
 */
const PATTERN = "call blanks call call blanks call call call blanks call".split(" ");

async function mixedBatch(): Promise<Buffer> {
  const text = JSON.stringify({ type: "identify", userId: "u", writeKey: "k" });
  const padded = Buffer.from(text.padEnd(CALL_BYTES));
  const blanks = Buffer.alloc(70 * MEBI, " ");
  const records = PATTERN.map((kind) => ({
    ...{ key: Buffer.from("u"), headers: [] },
    value: kind === "call" ? padded : blanks,
  }));
  return encodeBatch(records, { compression: ZSTD });
}

/** Returns true if the stage has joined its group and fetches records. */
async function hasJoined(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null);
  const text = (await response?.text()) ?? "";
  return /^switchyard_consumer_last_heartbeat_timestamp_seconds\{stage="route".*\} [1-9]/m.test(
    text,
  );
}

test("killed while it inflates one: nothing is lost, and repeated is what was not committed", async () => {
  const { prefix, kafka, recordsIn, idsIn } = useKafka("inflated-kill", { connection });
  const calls = `${prefix}calls`;
  await kafka.admin.create(TOPICS.map((name) => spec(prefix + name)));
  /**
   * Returns the offsets in partition 0 of `calls` for all deliveries and dead letters; an offset that was written twice
   * occurs twice.
   */
  const written = async (): Promise<readonly number[]> => {
    const copies = (await idsIn("deliveries.store")).filter((id) => id.startsWith(`${calls}/0/`));
    const deadLetters = (await recordsIn("dead-letters")).map(
      (record) => headerTexts(record)["switchyard-offset"],
    );
    return [...copies.map((id) => id.split("/")[2]), ...deadLetters].map(Number);
  };
  const committed = async () => {
    const offsets = await kafka.admin.committed(`${prefix}route`, calls);
    return offsets.find(({ partition }) => partition === 0)?.offset ?? 0;
  };
  const batch = await mixedBatch();
  expect(batch.length).toBeLessThan(MEBI);
  const total = BATCHES * PATTERN.length;
  for (let round = 0; round < BATCHES; round += 1) await rawProduce(connection, calls, 0, batch);

  const port = await freePort();
  const isThere = async (offsets: number) => new Set(await written()).size >= offsets;
  const instants: readonly (() => Promise<boolean>)[] = [
    // This is the first part of the first batch.
    () => hasJoined(port),
    () => isThere(1),
    () => isThere(PATTERN.length + 1),
    () => isThere(total),
  ];
  let before: readonly number[] = [];
  for (const [number, isReached] of instants.entries()) {
    const from = await committed();
    const { child, ended } = startLimited(configuration(prefix, port));
    await expect.poll(isReached, { timeout: 60_000, interval: 100 }).toBe(true);
    const isLast = number === instants.length - 1;
    child.kill(isLast ? "SIGTERM" : "SIGKILL");
    expect(await ended).toBe(isLast ? 0 : null);
    const after = await written();
    if (!isLast) expect(new Set(after).size).toBeLessThan(total);
    // Each offset below the committed one was written.
    const there = new Set(after);
    const done = Array.from({ length: await committed() }, (_, offset) => offset);
    expect(done.filter((offset) => !there.has(offset))).toEqual([]);
    // A process starts to write at the offset that the previous process has committed.
    const added = [...after];
    for (const offset of before) added.splice(added.indexOf(offset), 1);
    expect(added.filter((offset) => offset < from)).toEqual([]);
    expect(new Set(added).size).toBe(added.length);
    before = after;
  }
  expect(await committed()).toBe(total);
});
