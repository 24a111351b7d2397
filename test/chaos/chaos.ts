/**
 * The real program on a real Kafka, with everything going wrong that a seed decides, and a ledger
 * of every call for every destination.
 *
 *   1  a broker of its own, a proxy before each program, an endpoint server, two to four programs
 *   2  calls are published all the time; in each round one or two faults (`faults.ts`)
 *   3  all is healed; it waits until every record is finished and its offset committed
 *   4  SIGTERM; the ledger is judged (`laws.ts`)
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import { createPrng } from "../support/clock/prng.ts";
import { FAULT_KINDS, type FaultWorld, inject, isGraceful, untilCalm } from "./faults.ts";
import { Journal } from "./journal.ts";
import { outOfOrder, violations } from "./laws.ts";
import { Member } from "./member.ts";
import { startProxy } from "./proxy.ts";
import { publish } from "./publisher.ts";
import { TopicReader } from "./read-topics.ts";
import { startReceiver } from "./receiver.ts";
import { tooMany } from "./repetitions.ts";
import { type Broken, history, type Injected, ledgerText } from "./report.ts";
import { type Answer, healthyAnswer, scriptedAnswer, sickAnswer } from "./scripts.ts";
import { configuration, destinations, POLICY, recipientOf, WINDOW_MS } from "./setup.ts";
import type { Exposure } from "./violation.ts";

const WHOLE_PATH = "route,deliver,delay";
/** Stages of the programs that make up the pipeline. */
const LAYOUTS: readonly (readonly string[])[] = [
  [WHOLE_PATH, WHOLE_PATH],
  ["route,delay", "deliver", WHOLE_PATH],
  ["route", "deliver,delay", "deliver"],
  ["route", "delay,route", "deliver", "deliver,delay"],
];
const PROGRAMS_MAX = Math.max(...LAYOUTS.map((layout) => layout.length));
const SETTLED_LIMIT_MS = WINDOW_MS + 90_000;
const HISTORIES_MAX = 3;
/** Deliveries keep nothing on disk. */
export const DELIVERY_FAULTS: readonly string[] = FAULT_KINDS.filter(
  (kind) => kind !== "lose-disk",
);

export interface ChaosOptions {
  readonly seed: number;
  /** Faults of each round, which begin one after the other and go on side by side. */
  readonly plan: readonly (readonly string[])[];
  /** Called with a line for each step. */
  readonly say: (line: string) => void;
}

export interface ChaosResult {
  readonly ledger: string;
  /** Histories of deliveries that broke a law; none when all held. */
  readonly broken: readonly string[];
  readonly logs: string | null;
}

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, say } = options;
  const random = createPrng(seed);
  const directory = mkdtempSync(join(tmpdir(), "switchyard-chaos-"));
  await using stack = new AsyncDisposableStack();
  const failures: string[] = [];
  let isSick = false;
  // The receiver is told the answers by path, and the paths need its address.
  const tempers = new Map<string, string>();
  const answerRandom = random.fork();
  const answer = (path: string, messageId: string, attempt: number): Answer => {
    const temper = tempers.get(path);
    if (temper === "healthy") return healthyAnswer(answerRandom);
    if (temper === "sick" && isSick) return sickAnswer(answerRandom);
    return scriptedAnswer(seed, path, messageId, attempt);
  };
  let journal: Journal | null = null;
  const receiver = stack.use(await startReceiver(answer, (each) => journal?.requested(each)));
  const all = destinations(receiver.baseUrl);
  for (const { path, temper } of all.flatMap((each) => each.endpoints)) tempers.set(path, temper);
  journal = new Journal(all);

  const proxies = await Promise.all(Array.from({ length: PROGRAMS_MAX + 1 }, startProxy));
  for (const proxy of proxies) stack.use(proxy);
  const fronts = proxies.map(({ address }) => address);
  const broker = stack.use(await startKafka({ private: true, fronts, log: say }));
  proxies.forEach((proxy, index) => {
    proxy.leadTo(broker.behind[index] ?? "");
  });
  const config = configuration(all, receiver.baseUrl);
  const layout = random.pick(LAYOUTS);
  say(`programs: ${layout.join(" | ")}`);
  const member = (name: string, stages: string, index: number) => {
    const proxy = proxies[index];
    if (proxy === undefined) throw new Error("there are fewer proxies than programs");
    const onDeath = (says: string) => failures.push(says);
    return stack.use(new Member({ name, stages, directory, config, proxy }, onDeath));
  };
  const members = layout.map((stages, index) => member(`program-${index + 1}`, stages, index));
  const world: FaultWorld = {
    random,
    broker,
    members,
    spare: member("spare", WHOLE_PATH, PROGRAMS_MAX),
    setSick: (value) => {
      isSick = value;
    },
    exposures: [],
    busy: new Set(),
    fail: (says) => failures.push(says),
    say,
  };
  const kafka = connect(broker.brokers);
  stack.defer(() => kafka.close());
  const injected = await live(world, kafka, journal, options);
  const reader = new TopicReader(kafka, journal, all);
  say("all is healed; waiting for the last deliveries");
  failures.push(...(await settle(world, reader)));
  const result = judge(journal, injected, world.exposures, failures);
  if (result.broken.length > 0) return { ...result, logs: directory };
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  return { ...result, logs: null };
}

/** Reaches the broker past all proxies. The caller closes it. */
export function connect(brokers: readonly string[]): Kafka {
  const log = createLog("error", { write: () => undefined });
  const connection = { brokers, clientId: "chaos", tls: null, sasl: null };
  return createKafka({ ...connection, sessionTimeoutMs: 10_000, recordMaxBytes: () => 1e6 }, log);
}

/** The rounds. Returns what went wrong when. */
async function live(
  world: FaultWorld,
  kafka: Kafka,
  journal: Journal,
  { plan, say }: ChaosOptions,
): Promise<readonly Injected[]> {
  const { random, members, exposures } = world;
  const injected: Injected[] = [];
  await Promise.all(members.map((member) => member.start()));
  await Promise.all(members.map((member) => member.ready()));
  const stop = new AbortController();
  const publishing = publish(kafka.producer(), journal, random.fork(), stop.signal);
  publishing.catch((error: unknown) => world.fail(`publishing failed: ${String(error)}`));
  for (const [index, kinds] of plan.entries()) {
    // Else an earlier fault would excuse what a graceful one must not do.
    if (kinds.every(isGraceful)) await untilCalm(exposures);
    say(`round ${index + 1}: ${kinds.join(" and ")}; ${journal.calls.length} calls so far`);
    await Promise.all(
      kinds.map(async (kind, position) => {
        await sleep(position * random.integer(0, 4_000));
        injected.push({ kind, atMs: Date.now() });
        await inject(kind, world);
      }),
    );
    await Promise.all(members.map((member) => revive(member)));
    await untilPublished(journal, random.integer(20, 80));
  }
  stop.abort();
  await publishing;
  return injected;
}

/** @param faults kinds to choose from. */
export function choosePlan(
  seed: number,
  rounds: number,
  faults: readonly string[],
): ChaosOptions["plan"] {
  const random = createPrng(~seed);
  return Array.from({ length: rounds }, () => {
    const first = random.pick(faults);
    return random.chance(0.25) ? [...new Set([first, random.pick(faults)])] : [first];
  });
}

/** Else faults after a broker's would meet no work: the publisher, too, waits for the broker. */
async function untilPublished(journal: Journal, more: number): Promise<void> {
  const wanted = journal.calls.length + more;
  while (journal.calls.length < wanted) await sleep(50);
}

/** A program that has died by itself is noted as a failure; the others' work goes on. */
async function revive(member: Member): Promise<void> {
  if (!member.isRunning) await member.start();
  await member.ready().catch(() => undefined);
}

/**
 * Waits until everything is finished and committed, then stops the programs. Returns what is not as
 * it should be.
 */
async function settle(world: FaultWorld, reader: TopicReader): Promise<readonly string[]> {
  const untilMs = Date.now() + SETTLED_LIMIT_MS;
  let progress = await reader.progress();
  let isOver = false;
  while (!isOver && Date.now() < untilMs) {
    await sleep(1_000);
    const before = progress;
    progress = await reader.progress();
    // Between two looks a record may go from a topic not yet looked at to one looked at before.
    isOver = progress.behind.length === 0 && progress.ends === before.ends;
  }
  const failures = [...progress.behind];
  await untilCalm(world.exposures);
  const statuses = await Promise.all(world.members.map((member) => member.stop()));
  statuses.forEach((status, index) => {
    if (status === 0) return;
    failures.push(`${world.members[index]?.name} ended with ${status} at the last SIGTERM`);
  });
  await reader.read();
  return failures;
}

function judge(
  journal: Journal,
  injected: readonly Injected[],
  exposures: readonly Exposure[],
  failures: readonly string[],
): Omit<ChaosResult, "logs"> {
  const broken: Broken[] = [...failures, ...journal.strange, ...journal.unknown()].map((says) => ({
    entry: null,
    violation: { law: "run", says },
  }));
  const deliveries = [...journal.deliveries()].map(
    ([entry, destination]) => [entry, recipientOf(destination)] as const,
  );
  for (const [entry, recipient] of deliveries) {
    for (const violation of violations(entry, recipient, POLICY, exposures)) {
      broken.push({ entry, violation });
    }
  }
  for (const violation of tooMany(deliveries, exposures)) broken.push({ entry: null, violation });
  for (const destination of ["healthy", "narrow"]) {
    const entries = journal.calls.map(
      ({ user, messageId }) => [user, journal.entry(messageId, destination)] as const,
    );
    broken.push(...outOfOrder(entries));
  }
  for (const key of journal.poison) {
    if (!journal.poisonLetters.has(key)) {
      broken.push({ entry: null, violation: { law: "lost", says: `${key} is no dead letter` } });
    }
  }
  const ofLaws = Map.groupBy(broken, ({ violation }) => violation.law).values();
  const histories = [...ofLaws]
    .flatMap((ofLaw) => ofLaw.slice(0, HISTORIES_MAX))
    .map((each) => history(each, injected));
  const more = broken.length - histories.length;
  if (more > 0) histories.push(`... and ${more} more`);
  return { ledger: ledgerText({ journal, injected, exposures, broken }), broken: histories };
}
