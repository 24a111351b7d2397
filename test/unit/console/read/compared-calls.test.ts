// Past calls are compared with a file that a user pastes, on a Kafka in memory; and the files that it may name.

import { expect, test } from "vitest";

import type { Config } from "../../../../src/config/config.ts";
import { type Load, loadConfig } from "../../../../src/config/load.ts";
import { prepareComparison } from "../../../../src/console/read/compared-calls.ts";
import { inspected } from "../../../../src/console/read/inspect.ts";
import { openCommandSchemas } from "../../../../src/operate/connect/command-schemas.ts";
import { configuredTopics } from "../../../../src/operate/connect/connection.ts";
import { rulesYaml } from "../../../support/build/ruled-call.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../support/memory-kafka/memory-kafka.ts";

const STOLEN = "hunter2-hunter2-hunter2";
const EMAIL = "ada@example.com";
const env = { STOLEN, STAGE: "alias" };
const signal = new AbortController().signal;

function world(inUse: string) {
  const clock = new ManualClock(1_800_000_000_000);
  const cluster = new MemoryCluster({ clock, random: createPrng(5) });
  const load: Load = (given) =>
    loadConfig({ file: "/nowhere/switchyard.yaml", env, content: Buffer.from(inUse), ...given });
  const loaded = load();
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const { calls } = configuredTopics(loaded.config);
  cluster.createTopic(calls, 1);
  const kafka = cluster.connect();
  const source = {
    current: () => loaded,
    inspect: async (content: Uint8Array, inPlace: Config) => inspected(load, content, inPlace),
    useKafka: <Result>(work: (to: typeof kafka) => Promise<Result>) => work(kafka),
    openSchemas: openCommandSchemas,
  };
  const sinceMs = clock.nowMs() - 3_600_000;
  const prepareFile = (yaml: string) =>
    prepareComparison(source, Buffer.from(yaml), { sinceMs, share: 1 });
  const prepare = (rules: string, more = "") => prepareFile(rulesYaml(rules, more));
  return {
    ...{ prepare, prepareFile, finish: clockDriver(clock).during },
    call: (messageId: string, over: object = {}) => {
      const call = { type: "track", userId: "ada", event: "Ordered", messageId, ...over };
      const value = Buffer.from(JSON.stringify(call));
      cluster.append({ topic: calls, key: Buffer.from("ada"), value, headers: [] });
    },
  };
}

test("it is found what each destination would gain, lose and get changed, without a value", async () => {
  const { prepare, call, finish } = world(rulesYaml(""));
  call("m-1", { properties: { email: EMAIL } });
  call("m-2", { event: "Heartbeat" });
  call("m-3");
  const prepared = await prepare(
    `filters:
  - { name: no heartbeats, if: "event = 'Heartbeat'", drop: true }
  - { name: no emails, dropProperties: { properties: [email] } }`,
  );
  if (prepared.kind !== "prepared") throw new Error(JSON.stringify(prepared));
  let progress = () => "";
  const follow = (text: () => string) => {
    progress = text;
  };
  const found = await finish(prepared.compare({ follow }, signal));
  expect(progress()).toBe("3 records read");
  expect(found).toEqual({
    ...{ since: expect.any(String), share: 1, calls: 3, withoutSchema: 0, unread: [], others: 0 },
    destinations: [
      {
        destination: "crm",
        gained: { count: 0, examples: [] },
        lost: [{ reason: "filtered", count: 1, examples: ["m-2"] }],
        changed: { count: 1, examples: ["m-1"], properties: [["properties.email", 1]] },
      },
    ],
  });
  expect(JSON.stringify(found)).not.toContain(EMAIL);
});

test("one that is stopped has no result", async () => {
  const { prepare, call, finish } = world(rulesYaml(""));
  call("m-1");
  const prepared = await prepare("");
  if (prepared.kind !== "prepared") throw new Error(JSON.stringify(prepared));
  const stopped = prepared.compare({ follow: () => undefined }, AbortSignal.abort());
  expect(await finish(stopped)).toBeNull();
});

test("at most 200 destinations, and 20 properties of each, are shown", async () => {
  const ids = Array.from({ length: 205 }, (_, at) => `d-${at}`);
  const yaml = (rules: string) => {
    const more = ids.map((id) => `  - { id: ${id}, type: topic, name: D${rules} }`).join("\n");
    return rulesYaml("", more).replace("[crm, plain]", `[${ids.join(", ")}]`);
  };
  const { prepareFile, call, finish } = world(yaml(""));
  const properties = Object.fromEntries(ids.map((id) => [id, 1]));
  call("m-1", { properties });
  const allow = ", filters: [{ name: f, allowProperties: { properties: [none] } }]";
  const prepared = await prepareFile(yaml(allow));
  if (prepared.kind !== "prepared") throw new Error(JSON.stringify(prepared));
  const found = await finish(prepared.compare({ follow: () => undefined }, signal));
  expect([found?.destinations.length, found?.others]).toEqual([200, 5]);
  const changed = found?.destinations[0]?.changed;
  expect([changed?.count, changed?.examples, changed?.properties.length]).toEqual([1, ["m-1"], 20]);
});

test("problems of the file have their place, and nothing that it takes from elsewhere", async () => {
  const { prepare } = world(rulesYaml(""));
  const found = await prepare(
    "enabled: maybe",
    `audiences: [{ id: vip, approvalShare: "\${STOLEN}" }]`,
  );
  expect(found).toMatchObject({
    kind: "unusable",
    problems: [
      { where: "destinations[0].enabled", line: 11 },
      { where: "audiences[0].approvalShare", line: 13 },
    ],
  });
  expect(JSON.stringify(found)).not.toContain(STOLEN);
});

test.each([
  [`filters: [{ name: f, if: "contains('\${STOLEN}', event)", drop: true }]`, "filters[0].if"],
  [`filters: [{ name: f, if: "\${STOLEN}", drop: true }]`, "filters[0].if"],
  [`filters: [{ name: f, sample: { share: "\${STOLEN}" } }]`, "filters[0].sample.share"],
  [`map: [{ set: properties.x, value: ["\${file:/etc/passwd}"] }]`, "map[0].value[0]"],
  [`map: [{ remove: userId, if: "userId = '\${STOLEN}'" }]`, "map[0].if"],
  [`consent: ["\${STOLEN}"]`, "consent[0]"],
])("a rule with a foreign reference is not compared: %s", async (rules, where) => {
  const found = await world(rulesYaml("")).prepare(rules);
  expect(found).toMatchObject({
    kind: "references",
    problems: [{ where: `destinations[0].${where}`, line: 11 }],
  });
  expect(JSON.stringify(found)).not.toContain(STOLEN);
});

test("the secret of a hash, what is no reference, and what the current rules refer to are compared", async () => {
  const condition = `{ name: f, if: "type = '\${STAGE}'", drop: true }`;
  const { prepare } = world(rulesYaml(`filters: [${condition}]`));
  const hash = `map: [{ hash: userId, algorithm: hmac-sha256, secret: "\${STOLEN}" }]`;
  const literal = `filters: [{ name: g, if: "event = '$\${STOLEN}'", drop: true }]`;
  for (const rules of [hash, literal, `filters: [${condition}]`]) {
    expect((await prepare(rules)).kind).toBe("prepared");
  }
  // The same reference in another setting would show something else.
  expect((await prepare(`map: [{ remove: userId, if: "type != '\${STAGE}'" }]`)).kind).toBe(
    "references",
  );
});
