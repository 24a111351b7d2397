// The program on a real Kafka while its configuration changes: a file is written, a ConfigMap is replaced with a
// symbolic link, SIGHUP is sent, or a POST request.

import { createHmac } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { beforeEach, expect, test } from "vitest";

import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram, WRITE_KEY } from "../support/kit/program.ts";
import { type Receiver, useReceiver } from "../support/kit/receiver.ts";

let own: UsedKafka;
let receiver: Receiver;

beforeEach(async () => {
  own = useKafka("reload");
  receiver = await useReceiver();
});

interface Given {
  /** Settings of each destination, by ID. */
  readonly destinations: Readonly<Record<string, object>>;
  readonly kafka?: object;
  readonly log?: object;
}

const hook = (id: string, more: object = {}) => ({
  endpoints: [{ url: `${receiver.url}/${id}` }],
  ...more,
});

function configuration({ destinations, kafka, ...more }: Given): string {
  const { prefix, brokers } = own;
  return configOf({
    kafka: { brokers, topicPrefix: prefix, partitions: 2, ...kafka },
    destinations: destinations as Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    admin: { reload: true },
    ...more,
  });
}

/** @param lay creates the files in the directory, and returns the path of the configuration. */
function launch(given: Given, lay?: (directory: string) => string) {
  const world = useProgram(lay ?? configuration(given));
  const program = world.begin();
  const metrics = () => program.get("/metrics");
  return {
    ...{ ...program, directory: world.directory, file: world.file, metrics },
    readyz: async () =>
      JSON.parse(await program.get("/readyz")) as {
        readonly stages: { readonly configuration: { readonly healthProblems: readonly string[] } };
      },
    hashNow: async () => /switchyard_config_info{hash="(\w+)"} 1/.exec(await metrics())?.[1],
    rebalances: async () =>
      Object.fromEntries(
        [...(await metrics()).matchAll(/^switchyard_consumer_rebalances_total({.*}) (\d+)$/gm)].map(
          ([, labels = "", count]) => [labels, Number(count)],
        ),
      ),
  };
}

async function start(given: Given, lay?: (directory: string) => string) {
  const started = launch(given, lay);
  await started.logged("ready");
  return started;
}

/** Replaces the file with a new one, like editors and deployments. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text);
  renameSync(`${file}.tmp`, file);
}

const ids = (path: string) => receiver.ids(path);
/** The result must be the same this many times, because members still join while the first call arrives. */
const SAME_LOOKS = 30;

async function settled(look: () => Promise<Readonly<Record<string, number>>>) {
  let last = await look();
  let same = 0;
  const lookAgain = async () => {
    const now = await look();
    same = isDeepStrictEqual(now, last) ? same + 1 : 0;
    last = now;
    return same;
  };
  await expect.poll(lookAgain).toBeGreaterThanOrEqual(SAME_LOOKS);
  return last;
}

test("destinations come, change and go: others' consumers never rebalance, attempts in progress finish", async () => {
  const first = { crm: hook("crm", { sharedSecret: `\${file:secret}` }) };
  const lay = (at: string) => {
    writeFileSync(join(at, "secret"), "first-secret-0123\n");
    writeFileSync(join(at, "switchyard.yaml"), configuration({ destinations: first }));
    return join(at, "switchyard.yaml");
  };
  const program = await start({ destinations: first }, lay);
  const { file, directory, logged, lines, hashNow, rebalances } = program;
  await own.publish();
  await expect.poll(() => ids("/crm")).toEqual(["m0"]);
  const before = await settled(rebalances);
  const hash = await hashNow();

  // A destination is added.
  const both = { ...first, new: hook("new") };
  replace(file, configuration({ destinations: both }));
  const { destinations } = await logged("config.applied");
  expect(destinations).toEqual({ added: ["new"] });
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m1"]);
  await expect.poll(() => ids("/crm")).toEqual(["m0", "m1"]);
  expect(await hashNow()).not.toBe(hash);

  // A secret is rotated: only its file changes.
  replace(join(directory, "secret"), "second-secret-0123\n");
  expect((await logged("config.applied", 2)).destinations).toEqual({
    changed: [{ id: "crm", settings: ["sharedSecret"] }],
  });
  await own.publish();
  await expect.poll(() => ids("/crm")).toHaveLength(3);
  const signed = (key: string, at: number) => {
    const { body = "" } = receiver.at("/crm")[at] ?? {};
    return createHmac("sha1", key).update(body).digest("hex");
  };
  const signatures = receiver.at("/crm").map(({ headers }) => headers["x-signature"]);
  expect(signatures[1]).toBe(signed("first-secret-0123", 1));
  expect(signatures[2]).toBe(signed("second-secret-0123", 2));

  // A destination is removed while an attempt is in flight.
  await expect.poll(() => ids("/new")).toHaveLength(2);
  receiver.slow("/new", 2_000);
  await own.publish();
  await expect.poll(() => ids("/new")).toHaveLength(3);
  replace(file, configuration({ destinations: first }));
  await logged("config.applied", 3);
  const attempts = () =>
    lines.filter((line) => line.msg === "delivery.attempted" && line.destination === "new");
  await expect.poll(() => attempts().length).toBe(3);
  expect(attempts().at(-1)).toMatchObject({ decision: "accepted", messageId: "m3" });
  await expect.poll(program.metrics).not.toContain('destination="new"');
  await own.publish();
  await expect.poll(() => ids("/crm")).toHaveLength(5);
  expect(ids("/new")).toHaveLength(3);

  // The destination is added again: calls that were not routed to it before are missing, and nothing arrives twice.
  replace(file, configuration({ destinations: both }));
  await logged("config.applied", 4);
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m1", "m2", "m3", "m5"]);
  await expect.poll(() => ids("/crm")).toHaveLength(6);

  const after = await rebalances();
  for (const [labels, count] of Object.entries(before))
    expect([labels, after[labels]]).toEqual([labels, count]);
  expect(await program.stop()).toBe(0);
  expect(ids("/crm")).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
  const log = JSON.stringify(lines);
  expect(log).not.toContain("second-secret");
});

test("an invalid file changes nothing and is reported; the next valid one is applied", async () => {
  const crm = hook("crm");
  const { file, logged, lines, sample, readyz, hashNow, admin } = await start({
    destinations: { crm },
  });
  const whole = configuration({
    destinations: { crm, new: hook("new", { sharedSecret: "hidden-0123456789abc" }) },
  });
  const hash = await hashNow();
  // The file is incomplete: it ends in the middle of an entry.
  replace(file, "destinations:\n  - { id: crm, type: topic }\n  - { id: new, type: webhook, ");
  const { problems, since } = await logged("config.invalid");
  expect(problems).toHaveLength(1);
  expect(`${problems}`).not.toContain("hidden-0123456789abc");
  expect(await sample('switchyard_config_reloads_total{outcome="invalid"}')).toBe(1);
  expect(await sample("switchyard_config_invalid_since_timestamp_seconds")).toBe(
    Date.parse(`${since}`) / 1_000,
  );
  const response = await fetch(`http://${await admin()}/readyz`);
  expect(response.status).toBe(200);
  const { healthProblems } = (await readyz()).stages.configuration;
  expect(healthProblems).toEqual([
    expect.stringContaining(
      `the configuration file has been invalid since ${since}, and the process still uses the previous one`,
    ),
  ]);
  expect(await hashNow()).toBe(hash);
  await own.publish();
  await expect.poll(() => ids("/crm")).toEqual(["m0"]);

  writeFileSync(file, whole);
  await logged("config.applied");
  expect((await readyz()).stages.configuration.healthProblems).toEqual([]);
  expect(await sample("switchyard_config_invalid_since_timestamp_seconds")).toBe(0);
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m1"]);
  expect(JSON.stringify(lines)).not.toContain("hidden-0123456789abc");
});

test("a ConfigMap and a Secret that Kubernetes swaps by symlink", async () => {
  const text = (id: string) =>
    configuration({ destinations: { [id]: hook(id, { sharedSecret: `\${file:token}` }) } });
  /** Replaces files like the kubelet: creates a new folder and a new link, and renames the link to `..data`. */
  const swap = (folder: string, name: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(join(folder, name));
    for (const [file, content] of Object.entries(files)) {
      writeFileSync(join(folder, name, file), content);
    }
    symlinkSync(name, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  const program = await start({ destinations: {} }, (at) => {
    swap(at, "..2026_one", { "switchyard.yaml": text("crm"), token: "token-one-01234567" });
    for (const name of ["switchyard.yaml", "token"]) {
      symlinkSync(join("..data", name), join(at, name));
    }
    return join(at, "switchyard.yaml");
  });
  const { directory: folder, logged, sample } = program;
  swap(folder, "..2026_two", { "switchyard.yaml": text("other"), token: "token-one-01234567" });
  expect((await logged("config.applied")).destinations).toEqual({
    added: ["other"],
    removed: ["crm"],
  });
  rmSync(join(folder, "..2026_one"), { recursive: true });
  swap(folder, "..2026_three", { "switchyard.yaml": text("other"), token: "token-two-01234567" });
  expect((await logged("config.applied", 2)).destinations).toMatchObject({
    changed: [{ id: "other", settings: ["sharedSecret"] }],
  });
  await own.publish();
  await expect.poll(() => ids("/other")).toEqual(["m0"]);
  expect(await sample('switchyard_config_reloads_total{outcome="invalid"}')).toBe(0);
});

test("SIGHUP and POST /-/reload read it again, and report the result", async () => {
  const crm = hook("crm");
  const { file, child, logged, sample, readyz, admin } = await start({ destinations: { crm } });
  const reload = `http://${await admin()}/-/reload`;
  const post = async () => {
    const response = await fetch(reload, { method: "POST" });
    return { status: response.status, ...((await response.json()) as object) };
  };
  expect(await post()).toMatchObject({ status: 200, outcome: "unchanged", problems: [] });
  child.kill("SIGHUP");
  await expect.poll(() => sample('switchyard_config_reloads_total{outcome="unchanged"}')).toBe(2);
  expect((await fetch(reload)).status).toBe(405);

  const settings = { destinations: { crm, new: hook("new") }, log: { level: "warn" } };
  replace(file, configuration(settings));
  expect(await post()).toMatchObject({ status: 200, needsRestart: ["log.level"] });
  expect((await logged("config.needs-restart")).settings).toEqual(["log.level"]);
  const [healthProblem] = (await readyz()).stages.configuration.healthProblems;
  expect(healthProblem).toContain("log.level");
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m0"]);

  replace(file, "destinations: {");
  const refused = await post();
  expect(refused).toMatchObject({ status: 422, outcome: "invalid" });
  expect((refused as { readonly problems?: unknown }).problems).toHaveLength(1);
});

test("without the right to make topics a new destination waits for them, and the rest is taken over", async () => {
  const given = { destinations: { crm: hook("crm") }, kafka: { createTopics: false } };
  const program = launch(given);
  const make = async (topics: unknown) => {
    const names = topics as readonly string[];
    const spec = { partitions: 2, replicationFactor: 1, config: {} };
    await own.kafka.admin.create(names.map((name) => ({ name, ...spec })));
  };
  await make((await program.logged("topics.waiting")).topics);
  await program.logged("ready");
  const all = { crm: hook("moved"), new: hook("new") };
  replace(program.file, configuration({ ...given, destinations: all }));
  const waiting = await program.logged("config.waiting-for-topics");
  expect(waiting).toMatchObject({
    destinations: ["new"],
    topics: [`${own.prefix}deliveries.new`, `${own.prefix}retries.new`],
    fix: "switchyard topics --apply",
  });
  expect(await program.sample("switchyard_config_destinations_pending_topics")).toBe(1);
  await own.publish();
  await expect.poll(() => ids("/moved")).toEqual(["m0"]);
  expect((await program.readyz()).stages.configuration.healthProblems).toEqual([
    expect.stringContaining("destination new waits for"),
  ]);
  await make(waiting.topics);
  expect((await program.logged("config.applied", 2)).destinations).toEqual({ added: ["new"] });
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m1"]);
});

test("sources, write keys and integration names count for the next call", async () => {
  const named = (name: string) => ({ crm: hook("crm", { name }) });
  const { file, logged, post: send, sample } = await start({ destinations: named("One") });
  const call = { userId: "u", event: "e", integrations: { All: false, Two: true } };
  const post = (key: string) =>
    send("/v1/track", call, { authorization: `Basic ${btoa(`${key}:`)}` });
  expect(await post(WRITE_KEY)).toBe(200);
  expect(await post("other-0123456789")).toBe(401);
  // The names at the time of routing apply to a call.
  const routed = () => sample('switchyard_records_in_total{stage="route"}');
  await expect.poll(routed).toBe(1);
  const text = readFileSync(file, "utf8").replace(WRITE_KEY, "other-0123456789");
  replace(file, text.replace('"name": "One"', '"name": "Two"'));
  await logged("config.applied");
  expect(await post(WRITE_KEY)).toBe(401);
  expect(await post("other-0123456789")).toBe(200);
  await expect.poll(() => ids("/crm").length).toBe(1);
});

test("a change that comes before the stages have started is applied once they have", async () => {
  const crm = hook("crm");
  const { file, logged } = launch({ destinations: { crm } });
  await logged("starting");
  replace(file, configuration({ destinations: { crm, new: hook("new") } }));
  expect((await logged("config.applied")).destinations).toEqual({ added: ["new"] });
  await own.publish();
  await expect.poll(() => ids("/new")).toEqual(["m0"]);
});
