/**
 * Runs the real program on a real Kafka. A seed decides what goes wrong, and a ledger records what happens to every
 * call for every destination.
 *
 *   1  one or three separate brokers, proxies in front of each program, an endpoint server, two to four
 *      programs
 *   2  calls are published continuously, with one or two faults in each round (`faults.ts`); some users are
 *      suppressed and lifted (`canaries.ts`)
 *   3  all faults end; waits until every record is processed and its offset is committed
 *   4  SIGTERM; the ledger is judged (`laws.ts`), and `switchyard audit` must agree (`audit.ts`)
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Kafka } from "../../src/kafka/port.ts";
import { ClusterLook } from "../../tools/kafka/cluster-look.ts";
import { createPrng } from "../support/clock/prng.ts";
import { until } from "../support/kit/until.ts";
import { forwardProxy } from "../support/servers/forward-proxy.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";
import { type AuditExpected, auditViolations, runAudit } from "./audit.ts";
import { Canaries, isCanary } from "./canaries.ts";
import {
  CLUSTER_FAULT_KINDS,
  type ClusterWorld,
  injectInCluster,
  isGracefulInCluster,
  LONELY,
  startBrokers,
} from "./cluster-faults.ts";
import { closeAll, FAULT_KINDS, type FaultWorld, inject, isGraceful, untilCalm } from "./faults.ts";
import { Journal } from "./journal.ts";
import { type Judgement, judge } from "./judge.ts";
import { Member } from "./member.ts";
import { publish } from "./publisher.ts";
import { TopicReader } from "./read-topics.ts";
import { type ReceivedRequest, startReceiver } from "./receiver.ts";
import type { Injected } from "./report.ts";
import {
  configuration,
  consumedTopics,
  destinations,
  LONELY_REPLICAS,
  topics,
  WINDOW_MS,
} from "./setup.ts";
import { watchStalls } from "./stalls.ts";
import { type StarvationWatch, watchStarvation } from "./starvation.ts";
import { oneBroker, threeBrokers } from "./surroundings.ts";
import {
  isStranger,
  TAMPERED_LAYOUT,
  TAMPERING_KINDS,
  type TamperWorld,
  tamper,
} from "./tampering.ts";
import { createTempers } from "./tempers.ts";
import type { Exposure, Loss } from "./violation.ts";

const WHOLE_PATH = "route,deliver,delay";
/** Stages of the programs that make up the pipeline. */
const LAYOUTS: readonly (readonly string[])[] = [
  [WHOLE_PATH, WHOLE_PATH],
  ["route,delay", "deliver", WHOLE_PATH],
  ["route", "deliver,delay", "deliver"],
  ["route", "delay,route", "deliver", "deliver,delay"],
];
/** With several brokers each program has all stages. */
const CLUSTER_LAYOUTS: typeof LAYOUTS = [2, 4].map((programs) => Array(programs).fill(WHOLE_PATH));
const PROGRAMS_MAX = Math.max(...LAYOUTS.map((layout) => layout.length));
const MACHINE_LIMIT_MS = 180_000;
const SETTLED_LIMIT_MS = WINDOW_MS + 90_000;
/** If there are two faults in a round, the second one starts at most this long after the first. */
const APART_MAX_MS = 4_000;
/** Faults of disks are excluded, because nothing about deliveries is stored on disk. */
export const DELIVERY_FAULTS: readonly string[] = FAULT_KINDS.filter(
  (kind) => kind !== "lose-disk",
);

export const CLUSTER_FAULTS: readonly string[] = [
  ...DELIVERY_FAULTS.filter((kind) => kind !== "broker"),
  ...CLUSTER_FAULT_KINDS,
];

export interface ChaosOptions {
  readonly seed: number;
  /** The faults of each round. They start one after another and continue concurrently. */
  readonly plan: readonly (readonly string[])[];
  /** Called before each round. If it returns false, the rounds end. By default, they do not end early. */
  readonly mayBegin?: () => boolean;
  /** By default false. If true, the plan may have tampering, and each stage has a program of its own. */
  readonly isTampered?: boolean;
  /** By default 1. With 3, the plan may have faults of clusters. */
  readonly brokers?: 1 | 3;
  /** Called with a line for each step. */
  readonly say: (line: string) => void;
}

export interface ChaosResult extends Judgement {
  readonly logs: string | null;
}

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, say, brokers = 1, isTampered = false } = options;
  const random = createPrng(seed);
  const directory = mkdtempSync(join(tmpdir(), "switchyard-chaos-"));
  await using stack = new AsyncDisposableStack();
  const failures: string[] = [];
  const fail = (says: string) => {
    failures.push(says);
    say(`FAILED: ${says}`);
  };
  const startedAtMs = Date.now();
  const exposures: Exposure[] = [];
  const { stalls } = stack.use(watchStalls());
  const starvation = stack.use(watchStarvation(exposures));
  const tempers = createTempers(seed, random.fork());
  let journal: Journal | null = null;
  let canaries: Canaries | null = null;
  const requested = (each: ReceivedRequest) => {
    if (isCanary(each.messageId)) canaries?.requested(each);
    else if (!isStranger(each.messageId)) journal?.requested(each);
  };
  const receiver = stack.use(await startReceiver(tempers.reply, requested));
  const all = destinations(receiver.baseUrl, brokers);
  tempers.learn(all);
  journal = new Journal(all);

  const programs = PROGRAMS_MAX + 1;
  const around = stack.use(
    await (brokers === 1 ? oneBroker(programs, say) : threeBrokers(programs, random.fork(), say)),
  );
  const forward = { proxy: stack.use(await forwardProxy()), outages: [] as Exposure[] };
  const config = configuration(all, receiver.baseUrl, forward.proxy.url, around.brokers);
  const layouts = brokers === 1 ? LAYOUTS : CLUSTER_LAYOUTS;
  const layout = isTampered ? TAMPERED_LAYOUT : random.pick(layouts);
  say(`programs: ${layout.join(" | ")}`);
  const member = (name: string, stages: string, index: number) => {
    const proxy = around.proxies[index];
    if (proxy === undefined) throw new Error("there are fewer proxies than programs");
    return stack.use(new Member({ name, stages, directory, config, proxy }, fail));
  };
  const members = layout.map((stages, index) => member(`program-${index + 1}`, stages, index));
  const world: FaultWorld = {
    random,
    broker: around.broker,
    members,
    spare: member("spare", WHOLE_PATH, PROGRAMS_MAX),
    setSick: tempers.setSick,
    forward,
    exposures,
    busy: new Set(),
    fail,
    say,
  };
  // Without a proxy.
  const kafka = stack.adopt(testKafka({ brokers: around.brokers }), (each) => each.close());
  canaries = new Canaries(all, config);
  const reader = new TopicReader(kafka, [journal, canaries], all);
  const losses: Loss[] = [];
  const tampered: AuditExpected["injected"][number][] = [];
  const act = await actionsIn(around.cluster, world, {
    ...{ reader, losses, kafka, all, injected: tampered },
    consumed: consumedTopics(all).map(([topic]) => topic),
    setDoomed: tempers.setDoomed,
    ...{ brokers: Promise.resolve(), tampering: Promise.resolve() },
    look: new ClusterLook(around.brokers),
  });
  const injected = await live(world, act, { kafka, journal, canaries, starvation }, options);
  say("all is healed; waiting for the last deliveries");
  failures.push(...(await settle(world, reader)), ...canaries.violations(exposures));
  const audited = await runAudit(directory, config, startedAtMs);
  failures.push(...auditViolations(audited, await expectedOf(kafka, journal, losses, tampered)));
  say(canaries.summary());
  const machine = { starvedMs: starvation.starvedMs, lastedMs: Date.now() - startedAtMs };
  const circumstances = { exposures, losses, outages: forward.outages, stalls, machine, tampered };
  const result = judge(journal, injected, circumstances, failures);
  if (result.broken.length > 0) return { ...result, logs: directory };
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  return { ...result, logs: null };
}

async function expectedOf(
  kafka: Kafka,
  journal: Journal,
  losses: readonly Loss[],
  injected: AuditExpected["injected"],
): Promise<AuditExpected> {
  const ends = await kafka.admin.offsets(topics.calls);
  const records = ends.reduce((sum, { end }) => sum + end, 0);
  return { injected, losses, settled: { records, calls: journal.calls.length } };
}

interface Watched {
  readonly kafka: Kafka;
  readonly journal: Journal;
  readonly canaries: Canaries;
  readonly starvation: StarvationWatch;
}

interface Actions {
  readonly inject: (kind: string) => Promise<void>;
  readonly isGraceful: (kind: string) => boolean;
  /** Starts all brokers that are not running. */
  readonly mend: () => Promise<void>;
}

/** @param cluster null if there is one broker. */
async function actionsIn(
  cluster: ClusterWorld["cluster"] | null,
  world: FaultWorld,
  more: Omit<ClusterWorld & TamperWorld, keyof FaultWorld | "cluster">,
): Promise<Actions> {
  if (cluster === null) {
    const mend = () => world.broker.restart();
    const whole: TamperWorld = Object.assign(world, more);
    const act = (kind: string) =>
      TAMPERING_KINDS.includes(kind) ? tamper(kind, whole) : inject(kind, world);
    return { inject: act, isGraceful, mend };
  }
  await cluster.look.create(topics.deliveries(LONELY), LONELY_REPLICAS);
  const whole: ClusterWorld = Object.assign(world, { ...more, cluster });
  return {
    inject: (kind) => injectInCluster(kind, whole),
    isGraceful: isGracefulInCluster,
    mend: () => startBrokers(whole),
  };
}

/** Runs the rounds. Returns the faults with their times. */
async function live(
  world: FaultWorld,
  act: Actions,
  { kafka, journal, canaries, starvation }: Watched,
  { plan, mayBegin = () => true, say }: ChaosOptions,
): Promise<readonly Injected[]> {
  const { random, members, exposures } = world;
  const injected: Injected[] = [];
  await Promise.all(members.map((member) => member.start()));
  await Promise.all(members.map((member) => member.ready()));
  const stop = new AbortController();
  let machine = Promise.resolve();
  const publishing = publish(kafka.producer(), journal, random.fork(), stop.signal, () => machine);
  const living = canaries.live(kafka, random.fork(), stop.signal);
  living.catch((error: unknown) => world.fail(`suppressing failed: ${String(error)}`));
  publishing.catch((error: unknown) => world.fail(`publishing failed: ${String(error)}`));
  for (const [index, kinds] of plan.entries()) {
    // Little could be judged in a round on a machine that has no CPU time for it.
    if (starvation.isStarved) say("waiting: the machine keeps programs from running");
    machine = starvation.untilOver(MACHINE_LIMIT_MS);
    await machine;
    if (!mayBegin()) break;
    // Otherwise, an earlier fault would excuse violations that a graceful one must not cause.
    if (kinds.every(act.isGraceful)) await untilCalm(exposures);
    say(`round ${index + 1}: ${kinds.join(" and ")}; ${journal.calls.length} calls so far`);
    const failed: string[] = [];
    await Promise.all(
      kinds.map(async (kind, position) => {
        await sleep(position * random.integer(0, APART_MAX_MS));
        injected.push({ kind, atMs: Date.now() });
        await act.inject(kind).catch((error: unknown) => failed.push(`${kind}: ${String(error)}`));
      }),
    );
    if (failed.length > 0) {
      failed.forEach(world.fail);
      await mend(world, act).catch((error: unknown) => world.fail(`mending: ${String(error)}`));
    }
    await Promise.all(members.map((member) => revive(member)));
    await untilPublished(journal, random.integer(20, 80));
  }
  stop.abort();
  await Promise.all([publishing, living]);
  return injected;
}

/** @param faults the kinds of faults from which to choose. */
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

/**
 * Without this, faults after an outage of a broker would find no work, because the publisher also waits for the broker.
 */
async function untilPublished(journal: Journal, more: number): Promise<void> {
  const wanted = journal.calls.length + more;
  const arePublished = () => journal.calls.length >= wanted;
  await until(arePublished, { limitMs: Number.POSITIVE_INFINITY, everyMs: 50 });
}

/**
 * Cleans up after a fault that has failed half-way, so that its remains do not affect later faults or excuse
 * violations.
 */
async function mend(world: FaultWorld, act: Actions): Promise<void> {
  for (const member of [...world.members, world.spare]) {
    member.thaw();
    member.proxy.release();
  }
  await world.spare.stop();
  await act.mend();
  closeAll(world);
  world.busy.clear();
}

/**
 * Restarts a program. If the program ended without a fault, that is recorded as a failure. The other programs continue.
 */
async function revive(member: Member): Promise<void> {
  if (!member.isRunning) await member.start();
  await member.ready().catch(() => undefined);
}

/**
 * Waits until everything is processed and committed, then stops the programs. Returns the problems that were found.
 */
async function settle(world: FaultWorld, reader: TopicReader): Promise<readonly string[]> {
  let progress = await reader.progress();
  const isOver = async () => {
    const before = progress;
    progress = await reader.progress();
    // Two checks are needed, because a record may move from a topic that is not checked yet to one that was already
    // checked.
    const isEven = before.behind.length + progress.behind.length === 0;
    return isEven && progress.ends === before.ends;
  };
  await until(isOver, { limitMs: SETTLED_LIMIT_MS, everyMs: 1_000 });
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
