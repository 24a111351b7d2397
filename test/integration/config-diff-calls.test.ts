// `config diff --since` on a real Kafka, with the program as a child process: the route stage then writes what the
// command predicts.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";

import { uniquePrefix } from "../support/build/prefix.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const POLL = { interval: 100, timeout: 60_000 };
const CALLS = 400;
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const [before, after] = [uniquePrefix("diff-before"), uniquePrefix("diff-after")];
const folder = mkdtempSync(join(tmpdir(), "switchyard-diff-calls-"));
const children = new Set<ChildProcess>();
const kafka = testKafka();

const RULES = `
    filters:
      - { name: purchases only, if: "event != 'Ordered'", drop: true }
      - { name: no email, dropProperties: { properties: [email] } }
`;

function configured(name: string, prefix: string, rules: string): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2 }
sources: [{ id: web, destinations: [crm, dwh] }]
defaultSource: web
destinations:
  - id: crm
    type: topic
    name: CRM
${rules}
  - { id: dwh, type: topic, name: DWH }
`,
  );
  return file;
}

const OLD = configured("old", before, "");
const PROPOSED = configured("proposed", before, RULES);
const NEW = configured("new", after, RULES);

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  const names = await kafka.admin.topics();
  const own = names.filter((name) => name.startsWith(before) || name.startsWith(after));
  await kafka.admin.deleteTopics(own);
  await kafka.close();
  rmSync(folder, { recursive: true });
});

function start(...args: readonly string[]): ChildProcess {
  const env = { ...process.env, SWITCHYARD_ADMIN_PORT: "0" };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  children.add(child);
  return child;
}

async function switchyard(...args: readonly string[]) {
  const child = start(...args);
  if (child.stdout === null || child.stderr === null) throw new Error("no output");
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { status, out, err };
}

async function publish(prefix: string): Promise<void> {
  const records = Array.from({ length: CALLS }, (_, number) => ({
    topic: `${prefix}calls`,
    key: Buffer.from(`u-${number % 20}`),
    value: Buffer.from(
      JSON.stringify({
        ...{ type: "track", userId: `u-${number % 20}`, messageId: `m-${number}` },
        event: number % 4 === 0 ? "Ordered" : "Viewed",
        properties: number % 8 === 0 ? { email: "ada@example.com", total: 1 } : { total: 2 },
      }),
    ),
    headers: [],
  }));
  expect(await kafka.producer().send(records)).toEqual([]);
}

/** Returns the values in a topic by message ID. */
async function valuesOn(topic: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    const range = { topic, partition, from: first, to: end, maxBytes: 1_048_576 };
    if (first === end) continue;
    for await (const records of kafka.read({ ...range, signal: AbortSignal.timeout(30_000) })) {
      for (const { value } of records) {
        const json = `${value}`;
        found.set(JSON.parse(json).messageId, json);
      }
    }
  }
  return found;
}

/** Routes all calls of a prefix, and returns what crm got. */
async function routed(file: string, prefix: string, count: number) {
  const child = start("run", "--stages", "route", "--config", file);
  const topic = `${prefix}deliveries.crm`;
  await expect.poll(async () => (await valuesOn(topic)).size, POLL).toBe(count);
  child.kill("SIGTERM");
  await once(child, "exit");
  return await valuesOn(topic);
}

test("what it predicts is what route then writes, byte for byte", async () => {
  for (const [file, prefix] of [
    [OLD, before],
    [NEW, after],
  ] as const) {
    expect(await switchyard("topics", "--apply", "--config", file)).toMatchObject({ status: 0 });
    await publish(prefix);
  }
  const args = ["config", "diff", PROPOSED, "--since", "1h", "--config", OLD];
  const { status, out } = await switchyard(...args, "--json");
  const found = JSON.parse(out);
  expect(found).toMatchObject({ calls: CALLS, share: 1, withoutSchema: 0, unread: [] });
  expect(found.destinations.map(({ destination }: { destination: string }) => destination)).toEqual(
    ["crm"],
  );
  const [{ gained, lost, changed }] = found.destinations;
  expect(status).toBe(3);
  expect(gained.count).toBe(0);
  expect(lost).toMatchObject([{ reason: "filtered", count: CALLS * 0.75 }]);
  expect(changed).toMatchObject({
    count: CALLS / 8,
    properties: { "properties.email": CALLS / 8 },
  });

  const old = await routed(OLD, before, CALLS);
  const next = await routed(NEW, after, CALLS / 4);
  expect(old.size - next.size).toBe(lost[0].count);
  const different = [...next].filter(([id, value]) => old.get(id) !== value);
  expect(different).toHaveLength(changed.count);
  for (const id of changed.examples) expect(next.get(id)).not.toBe(old.get(id));
  for (const id of lost[0].examples) expect(next.has(id)).toBe(false);

  const text = await switchyard(...args);
  expect(text.out).toContain("lost     300 calls, filtered");
  expect(text.out).toContain("changed  50 calls: properties.email (50)");
  expect(`${text.out}${text.err}`).not.toContain("ada@example.com");

  const same = ["config", "diff", OLD, "--since", "1h", "--config", OLD];
  expect(await switchyard(...same)).toMatchObject({
    status: 0,
    out: expect.stringContaining("No call would be routed differently."),
  });
  const from = ["config", "diff", OLD, "--from", PROPOSED, "--since", "1h", "--config", OLD];
  const { destinations } = JSON.parse((await switchyard(...from, "--json")).out);
  expect(destinations).toMatchObject([{ gained: { count: CALLS * 0.75 }, lost: [] }]);
  const share = JSON.parse((await switchyard(...args, "--share", "25%", "--json")).out);
  expect(share.calls).toBeGreaterThan(CALLS / 10);
  expect(share.calls).toBeLessThan(CALLS / 2);
}, 180_000);
