// `config diff --since` on a real Kafka, with the program as a child process: the route stage then writes what the
// command predicts.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { useProgram } from "../support/kit/program.ts";

const CALLS = 400;
const lifetime = untilFileEnds();
const before = useKafka("diff-before", { lifetime });
const after = useKafka("diff-after", { lifetime });

const RULES = `
    filters:
      - { name: purchases only, if: "event != 'Ordered'", drop: true }
      - { name: no email, dropProperties: { properties: [email] } }
`;

const configured = ({ brokers, prefix }: UsedKafka, rules: string) => `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2 }
sources: [{ id: web, destinations: [crm, dwh] }]
defaultSource: web
destinations:
  - id: crm
    type: topic
    name: CRM
${rules}
  - { id: dwh, type: topic, name: DWH }
admin: { port: 0 }
`;

const old = useProgram(configured(before, ""), lifetime);
const ruled = useProgram(configured(after, RULES), lifetime);
const PROPOSED = join(old.directory, "proposed.yaml");
writeFileSync(PROPOSED, configured(before, RULES));

function publish({ write }: UsedKafka): Promise<void> {
  const calls = Array.from({ length: CALLS }, (_, number) => ({
    key: `u-${number % 20}`,
    value: {
      ...{ type: "track", userId: `u-${number % 20}`, messageId: `m-${number}` },
      event: number % 4 === 0 ? "Ordered" : "Viewed",
      properties: number % 8 === 0 ? { email: "ada@example.com", total: 1 } : { total: 2 },
    },
  }));
  return write("calls", calls);
}

/** Routes all calls, and returns what crm got, by message ID. */
async function routed(program: typeof old, { recordsIn }: UsedKafka, count: number) {
  const route = program.begin("route");
  const valuesOf = async () => {
    const texts = (await recordsIn("deliveries.crm")).map(({ value }) => `${value}`);
    return new Map(texts.map((json) => [String(JSON.parse(json).messageId), json]));
  };
  await expect.poll(async () => (await valuesOf()).size).toBe(count);
  await route.stop();
  return await valuesOf();
}

test("what it predicts is what route then writes, byte for byte", async () => {
  for (const [program, own] of [
    [old, before],
    [ruled, after],
  ] as const) {
    expect(await program.inProcess(["topics", "--apply"])).toMatchObject({ status: 0 });
    await publish(own);
  }
  const args = ["config", "diff", PROPOSED, "--since", "1h"];
  const { status, out } = await old.inProcess([...args, "--json"]);
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

  const was = await routed(old, before, CALLS);
  const next = await routed(ruled, after, CALLS / 4);
  expect(was.size - next.size).toBe(lost[0].count);
  const different = [...next].filter(([id, value]) => was.get(id) !== value);
  expect(different).toHaveLength(changed.count);
  for (const id of changed.examples) expect(next.get(id)).not.toBe(was.get(id));
  for (const id of lost[0].examples) expect(next.has(id)).toBe(false);

  const text = await old.inProcess(args);
  expect(text.out).toContain("lost     300 calls, filtered");
  expect(text.out).toContain("changed  50 calls: properties.email (50)");
  expect(`${text.out}${text.err}`).not.toContain("ada@example.com");

  const same = ["config", "diff", old.file, "--since", "1h"];
  expect(await old.inProcess(same)).toMatchObject({
    status: 0,
    out: expect.stringContaining("No call would be routed differently."),
  });
  const from = ["config", "diff", old.file, "--from", PROPOSED, "--since", "1h"];
  const { destinations } = JSON.parse((await old.inProcess([...from, "--json"])).out);
  expect(destinations).toMatchObject([{ gained: { count: CALLS * 0.75 }, lost: [] }]);
  const share = JSON.parse((await old.inProcess([...args, "--share", "25%", "--json"])).out);
  expect(share.calls).toBeGreaterThan(CALLS / 10);
  expect(share.calls).toBeLessThan(CALLS / 2);
});
