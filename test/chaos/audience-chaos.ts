/**
 * Runs programs with only the audience stage, each with a separate store, on a real Kafka. A seed decides what goes
 * wrong, and a ledger records every call that was written for a user.
 *
 *   1  a separate broker, a proxy in front of each program, two programs
 *   2  syncs are published continuously, with one or two faults in each round (`faults.ts`)
 *   3  all faults end; a last complete sync of each audience; waits until everything is committed
 *   4  SIGTERM; the ledger is judged (`audience-laws.ts`)
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";

import { groupNames, topicNames } from "../../src/domain/topics.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { createPrng } from "../support/clock/prng.ts";
import { until } from "../support/kit/until.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { readEvidence, readExpected } from "./audience-evidence.ts";
import { AUDIENCE_LAWS, judgeAudiences } from "./audience-laws.ts";
import { PARTITIONS, publishSyncs } from "./audience-publisher.ts";
import type { ChaosOptions, ChaosResult } from "./chaos.ts";
import { FAULT_KINDS, type FaultWorld, inject, untilCalm } from "./faults.ts";
import { Member } from "./member.ts";
import { progressOf } from "./read-topics.ts";
import { listed } from "./report.ts";
import { SESSION_TIMEOUT_MS } from "./setup.ts";
import { oneBroker } from "./surroundings.ts";

const PREFIX = "audience-chaos.";
const topics = topicNames(PREFIX);
const group = groupNames(PREFIX).audience;
const APPROVAL = { approvalShare: 0.6, approvalMinimum: 3 };
const PROGRAMS = ["program-1", "program-2", "spare"];
const SETTLED_LIMIT_MS = 120_000;
/**
 * How long each fault waits for calls. It does not always wait, so that it may also occur while partitions are taken
 * over.
 */
const CALLS_LIMITS_MS = [0, 2_000, 8_000];
/** When calls have been written, a fault strikes within this time, so that it meets each step of the work. */
const STRIKES_WITHIN_MS = 40;
/** If there are two faults in a round, the second one starts at most this long after the first. */
const APART_MAX_MS = 2_000;
/** Maximum number of violations that are shown for each law. */
const SHOWN_MAX = 5;

/**
 * No deliveries are made here, so endpoints cannot fail. The main faults are kills, which the audience stage must
 * survive.
 */
export const AUDIENCE_FAULTS: readonly string[] = [
  ...FAULT_KINDS.filter((kind) => kind !== "sick" && kind !== "proxy"),
  ...["kill", "kill", "kill-all", "kill-all", "lose-disk", "lose-disk"],
];

export async function runAudienceChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, say } = options;
  const random = createPrng(seed);
  const directory = mkdtempSync(join(tmpdir(), "switchyard-chaos-"));
  await using stack = new AsyncDisposableStack();
  const failures: string[] = [];
  const { proxies, broker, brokers } = stack.use(await oneBroker(PROGRAMS.length, say));
  const programs = proxies.map((proxy, index) => {
    const name = PROGRAMS[index] ?? "";
    const stateDirectory = join(directory, name, "state");
    const config = configuration(stateDirectory);
    const made = { name, stages: "audience", directory, config, proxy, stateDirectory };
    return stack.use(new Member(made, (says) => failures.push(says)));
  });
  const spare = programs.pop();
  if (spare === undefined) throw new Error("there is no program");
  const world: FaultWorld = {
    random,
    broker,
    members: programs,
    spare,
    setSick: () => undefined,
    forward: null,
    exposures: [],
    busy: new Set(),
    fail: (says) => failures.push(says),
    say,
  };
  const kafka = testKafka({ brokers });
  stack.defer(() => kafka.close());
  const kinds = await live(world, kafka, options);
  say("all is healed; waiting until all is committed");
  failures.push(...(await settle(world, kafka)));
  const result = await judge(kafka, world, kinds, failures);
  if (result.broken.length > 0) return { ...result, logs: directory };
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  return { ...result, logs: null };
}

/** Runs the rounds. Returns the faults, by number. */
async function live(
  world: FaultWorld,
  kafka: Kafka,
  { plan, mayBegin = () => true, say }: ChaosOptions,
) {
  const { random, members, exposures } = world;
  await Promise.all(members.map((member) => member.start()));
  await Promise.all(members.map((member) => member.ready()));
  const stop = new AbortController();
  const publishing = publishSyncs({
    producer: kafka.producer(),
    topic: topics.audienceSyncs,
    random: random.fork(),
    stop: stop.signal,
  });
  publishing.catch((error: unknown) => world.fail(`publishing failed: ${String(error)}`));
  const injected = new Map<string, number>();
  for (const [index, kinds] of plan.entries()) {
    if (!mayBegin()) break;
    say(`round ${index + 1}: ${kinds.join(" and ")}`);
    // A fault can interrupt work only while there is work in progress.
    const before = await untilMore(kafka, 1, random.pick(CALLS_LIMITS_MS));
    await sleep(random.integer(0, STRIKES_WITHIN_MS));
    await Promise.all(
      kinds.map(async (kind, position) => {
        await sleep(position * random.integer(0, APART_MAX_MS));
        injected.set(kind, (injected.get(kind) ?? 0) + 1);
        await inject(kind, world);
      }),
    );
    for (const member of members) if (!member.isRunning) await member.start();
    await untilMore(kafka, random.integer(1, 5_000), random.pick(CALLS_LIMITS_MS), before);
  }
  await untilCalm(exposures);
  await Promise.all(members.map((member) => member.ready().catch(() => undefined)));
  stop.abort();
  await publishing;
  return injected;
}

/** Resolves when this many more calls have been written, or at the limit, with the number of calls. */
async function untilMore(
  kafka: Kafka,
  more: number,
  limitMs: number,
  before?: number,
): Promise<number> {
  let now = before ?? (await written(kafka).catch(() => 0));
  const wanted = now + more;
  const areWritten = async () => {
    // While the broker is unreachable, there is no response, and nothing is written.
    now = await written(kafka).catch(() => now);
    return now >= wanted;
  };
  await until(areWritten, { limitMs, everyMs: 20 });
  return now;
}

async function written(kafka: Kafka): Promise<number> {
  const offsets = await kafka.admin.offsets(topics.calls);
  return offsets.reduce((sum, { end }) => sum + end, 0);
}

/**
 * Waits until everything is committed, then stops the programs. Returns the problems that were found.
 */
async function settle({ members }: FaultWorld, kafka: Kafka): Promise<readonly string[]> {
  let behind: readonly string[] = ["nothing was read yet"];
  const isCommitted = async () => {
    ({ behind } = await progressOf(kafka, [[topics.audienceSyncs, group]]));
    return behind.length === 0;
  };
  await until(isCommitted, { limitMs: SETTLED_LIMIT_MS, everyMs: 500 });
  const statuses = await Promise.all(members.map((member) => member.stop()));
  const ended = statuses.flatMap((status, index) =>
    status === 0 ? [] : [`${members[index]?.name} ended with ${status} at the last SIGTERM`],
  );
  return [...behind, ...ended];
}

async function judge(
  kafka: Kafka,
  { exposures }: FaultWorld,
  kinds: ReadonlyMap<string, number>,
  failures: readonly string[],
): Promise<Omit<ChaosResult, "logs">> {
  const expected = await readExpected(kafka, topics, APPROVAL);
  const evidence = await readEvidence(kafka, topics);
  const { violations, repeated, overtaken } = judgeAudiences(expected, evidence, exposures);
  const changes = [...expected.reported.values()].reduce(
    (sum, reported) => sum + reported.length,
    0,
  );
  const members = [...expected.members].map(([id, users]) => `${id} ${users.size}`);
  const laws = AUDIENCE_LAWS.map(
    (law) => `${law} = ${violations.filter((each) => each.law === law).length}`,
  );
  const shown = AUDIENCE_LAWS.flatMap((law) =>
    violations.filter((each) => each.law === law).slice(0, SHOWN_MAX),
  );
  const broken = [...failures, ...shown.map(({ law, says }) => `${law}: ${says}`)];
  return {
    ledger: [
      `changes        ${changes} of ${expected.reported.size} users and traits`,
      `calls          ${evidence.calls.length}, of which ${repeated} repeat another one`,
      `overtaken      ${overtaken} users and traits, by a process that had been taken for dead`,
      `members        ${members.join(", ")}`,
      `dead letters   ${evidence.deadLetters.size}`,
      `faults         ${listed(kinds)}`,
      `broken laws    ${laws.join(", ")}, run = ${failures.length}`,
    ].join("\n"),
    broken,
  };
}

/** YAML for `switchyard run`. Environment variables set the brokers and the admin port. */
function configuration(stateDirectory: string): string {
  return stringify({
    kafka: {
      brokers: ["overridden:1"],
      topicPrefix: PREFIX,
      partitions: PARTITIONS,
      replicationFactor: 1,
      sessionTimeout: `${SESSION_TIMEOUT_MS}ms`,
    },
    sources: [{ id: "platform" }],
    defaultSource: "platform",
    audienceDefaults: APPROVAL,
    audience: { stateDir: stateDirectory },
    admin: { host: "127.0.0.1", port: 1 },
  });
}
