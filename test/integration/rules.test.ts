// Rules on a real Kafka: values that rules remove for one destination are in none of its records, and in no log line,
// while another destination gets them. Rules that change while calls are published apply to each call as a whole.

import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { SourceId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { DestinationRules } from "../../src/domain/rules.ts";
import { startRoute } from "../../src/router/route/stage.ts";
import { aSource, aTopicDestination } from "../support/build/calls.ts";
import { NO_EGRESS } from "../support/build/lists.ts";
import { rulesOf } from "../support/build/ruled-call.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

let own: UsedKafka;
let lines: string[] = [];

beforeEach(async () => {
  own = useKafka("rules");
  lines = [];
  const names = ["calls", "dead-letters", "deliveries.a", "deliveries.b"];
  await createTopics(
    own.kafka,
    names.map((name) => own.prefix + name),
    3,
  );
});

function listsWith({ consent = null, filters = [], map = [] }: Partial<DestinationRules>) {
  const rules = { consent, filters, map };
  return {
    sources: [aSource("web", ["a", "b"])],
    defaultSource: "web" as SourceId,
    destinations: [aTopicDestination("a", rules), aTopicDestination("b")],
  };
}

function start(rules: Partial<DestinationRules>) {
  const log = createLog("debug", { write: (line) => lines.push(line) });
  const onFatal = (error: Error) => lines.push(`fatal: ${error.message}`);
  return startRoute(
    {
      kafka: own.kafka,
      producer: own.producer,
      clock: systemClock,
      log,
      metrics: createMetrics(),
      onFatal,
    },
    { topics: own.topics, groups: own.groups, ...listsWith(rules), drainLimitMs: 10_000 },
  );
}

const CANARY = "canary-5f1e";
const USER = "user-canary-77";
const call = (number: number) => ({
  ...{ type: "identify", userId: USER, messageId: `m${number}` },
  traits: { email: `${CANARY}@x.test`, phone: CANARY, plan: "pro" },
});

const send = (all: readonly number[]) =>
  own.write(
    "calls",
    all.map((number) => ({ value: call(number) })),
  );

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

function bytesOf({ key, value, headers }: IncomingRecord): string {
  return [key, value, ...headers.flat()].map((part) => part?.toString() ?? "").join(" ");
}

const HASHED = rulesOf(`
filters: [{ name: no phone, dropProperties: { traits: [phone] } }]
map: [{ hash: traits.email }, { hash: userId }]`);
const REMOVED = rulesOf(`
map:
  - { remove: traits.email }
  - { remove: traits.phone }
  - { set: userId, value: nobody }`);

const NO_OPTIONS = {
  ...{ source: null, integrations: null, approvalShare: null, approvalMinimum: null },
};

test("what rules remove is nowhere, and rules change for each call as a whole", async () => {
  const stage = await start(HASHED);
  await send(numbers(0, 200));
  const sending = send(numbers(200, 400));
  stage.update?.({
    ...listsWith(REMOVED),
    ...{ audiences: [], audienceDefaults: NO_OPTIONS, delivery: NO_EGRESS, ingestTls: null },
  });
  await sending;
  await send(numbers(400, 500));
  const [a, b] = [own.read(["deliveries.a"]), own.read(["deliveries.b"])];
  await Promise.all([a.untilTaken(500), b.untilTaken(500)]);
  await stage[Symbol.asyncDispose]();

  const forms = new Set(
    a.taken.map((record) => {
      const { userId, traits } = JSON.parse(`${record.value}`) as ReturnType<typeof call>;
      return JSON.stringify([`${record.key}` === userId, userId, Object.keys(traits)]);
    }),
  );
  expect(
    [...forms].every((form) =>
      /^\[true,("nobody",\["plan"\]|"[\da-f]{64}",\["email","plan"\])\]$/.test(form),
    ),
  ).toBe(true);
  expect([...forms].some((form) => form.includes("nobody"))).toBe(true);
  for (const record of a.taken) expect(bytesOf(record)).not.toMatch(/canary/);
  expect(lines.filter((line) => line.includes("canary") || line.startsWith("fatal"))).toEqual([]);
  const values = b.taken.map(({ value }) => `${value}`).toSorted();
  expect(values).toEqual(
    numbers(0, 500)
      .map((number) => JSON.stringify(call(number)))
      .toSorted(),
  );
  expect(b.taken.every(({ key }) => `${key}` === USER)).toBe(true);
});
