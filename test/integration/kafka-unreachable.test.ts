// An outage of Kafka, observed from outside the real program: `/readyz`, `/livez`, metrics and the log show the outage
// and its end. In `npm run test:outage`, the outage lasts for over a minute, and the log repeats the warning.

import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import {
  type ProgramWorld,
  programWorld,
  type RunningProgram,
} from "../support/servers/program.ts";

/** This is much more than a signal may be late. */
const SIGNAL = { timeout: 60_000, interval: 200 };
const IS_LONG = process.env.SWITCHYARD_LONG_OUTAGE === "1";
const STAGES = ["route", "audience", "deletion", "deliver", "delay", "ingest"];
const UNREACHABLE = "kafka.broker.unreachable";
const REACHABLE = "kafka.broker.reachable";

let broker: PrivateKafka;
let world: ProgramWorld;
let program: RunningProgram;
let admin = 0;
let warnings = "";

beforeAll(async () => {
  broker = await startKafka({ private: true });
  admin = await freePort();
  world = programWorld(`
kafka: { brokers: ["${broker.brokers[0]}"], partitions: 1, sessionTimeout: 6s }
sources: [{ id: web, writeKey: k, destinations: [hook] }]
destinations:
  - { id: hook, type: webhook, paused: true, endpoints: [{ url: "https://hook.example.com/" }] }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
`);
  program = world.start();
  program.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    warnings += text;
  });
  await program.logged("ready");
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await broker?.stop();
});

async function ask(path: string): Promise<{ readonly status: number; readonly body: string }> {
  const response = await fetch(`http://127.0.0.1:${admin}${path}`);
  return { status: response.status, body: await response.text() };
}

interface Readiness {
  readonly stages: Readonly<Record<string, { readonly healthProblems: readonly string[] }>>;
}

/** Returns the stages that report an unreachable broker as a health problem. */
async function stagesInHealthProblem(): Promise<readonly string[]> {
  const { stages } = JSON.parse((await ask("/readyz")).body) as Readiness;
  const isUnreachable = (text: string) =>
    text.includes(`${broker.brokers[0]} has been unreachable since`);
  return Object.keys(stages).filter((name) => stages[name]?.healthProblems.some(isUnreachable));
}

const samples = async (name: string): Promise<readonly string[]> =>
  (await ask("/metrics")).body.split("\n").filter((line) => line.startsWith(`${name}{`));
const connected = () => samples("switchyard_kafka_broker_reachable");
const lags = () => samples("switchyard_consumer_lag_records");
const values = (lines: readonly string[]) => lines.map((line) => Number(line.split(" ").at(-1)));
const linesSince = (from: number) => [...new Set(program.lines.slice(from).map(({ msg }) => msg))];

test("Kafka unreachable and back: all its signals report it, and no others", async () => {
  const ingest = (await program.logged("ingest.listening")).port as number;
  const call = { userId: "u1", event: "Order Completed" };
  const post = () =>
    fetch(`http://127.0.0.1:${ingest}/v1/track`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("k:")}`, "content-type": "application/json" },
      body: JSON.stringify(call),
    }).then(({ status }) => status);
  expect(await post()).toBe(200);
  const gauge = `switchyard_kafka_broker_reachable{broker="${broker.brokers[0]}"}`;
  await expect.poll(connected, SIGNAL).toEqual([`${gauge} 1`]);
  // The call has been processed as far as possible: from now on, no lag changes.
  const lagging = async () => (await lags()).filter((line) => !line.endsWith(" 0"));
  const expectedLag = 'switchyard_consumer_lag_records{stage="deliver",destination="hook"} 1';
  await expect.poll(lagging, SIGNAL).toEqual([expectedLag]);
  // For each stage that reads records.
  await expect.poll(async () => (await lags()).length, SIGNAL).toBe(STAGES.length - 1);
  await program.logged("audience.store.opened");
  const lagsBefore = new Set(await lags());
  const before = program.lines.length;

  await broker.kill();
  const diedAtMs = Date.now();
  const seen: string[] = [];
  const gaugeWhileLagsAreWatched = async () => {
    seen.push(...(await lags()));
    return connected();
  };
  await expect.poll(gaugeWhileLagsAreWatched, SIGNAL).toEqual([`${gauge} 0`]);
  await expect.poll(stagesInHealthProblem, SIGNAL).toEqual(expect.arrayContaining(STAGES));
  await expect.poll(lags, SIGNAL).toEqual([]);
  expect(seen.filter((line) => !lagsBefore.has(line))).toEqual([]);
  expect(values(await samples("switchyard_consumers_with_unknown_lag"))).not.toContain(0);

  const first = await program.logged(UNREACHABLE);
  const said = IS_LONG ? [first, await program.logged(UNREACHABLE, 2)] : [first];
  for (const line of said) {
    expect(line).toMatchObject({ level: "warn", broker: broker.brokers[0], since: first.since });
    expect(String(line.error)).toMatch(/ECONNREFUSED|ECONNRESET|no response/);
  }
  expect(Math.abs(Date.parse(String(first.since)) - diedAtMs)).toBeLessThan(SIGNAL.timeout);
  expect([(await ask("/livez")).status, (await ask("/readyz")).status]).toEqual([200, 200]);
  // Many consumers and a producer write only these lines.
  expect(linesSince(before)).toEqual([UNREACHABLE]);

  await broker.restart();
  const back = await program.logged(REACHABLE);
  expect(back).toMatchObject({ level: "info", broker: broker.brokers[0] });
  const spanMs = Date.parse(String(back.time)) - Date.parse(String(first.since));
  expect(Math.abs(Number(back.unreachableForMs) - spanMs)).toBeLessThan(1_000);
  await expect.poll(connected, SIGNAL).toEqual([`${gauge} 1`]);
  await expect.poll(stagesInHealthProblem, SIGNAL).toEqual([]);
  await expect.poll(async () => (await lags()).length, SIGNAL).toBe(lagsBefore.size);
  // The ingest stage may still be unavailable.
  await expect.poll(post, SIGNAL).toBe(200);
  expect((await ask("/livez")).status).toBe(200);
  const ofKafka = (msg: unknown) => String(msg).startsWith("kafka.");
  expect(linesSince(before).filter(ofKafka)).toEqual([UNREACHABLE, REACHABLE]);
  expect(warnings).toBe("");

  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
});
