/**
 * The faults of a round, and the repetitions that they may cause.
 *
 *   fault      action                                                   may repeat what was done
 *   stop       SIGTERM during work; a restart later                     nothing
 *   replace    another program starts, then one gets SIGTERM            nothing
 *   join       another program starts, and stops after a while          nothing
 *   slow-stop  SIGTERM while its writes take seconds                    nothing
 *   sick       an endpoint fails everything for a while                 nothing
 *   kill       SIGKILL; a restart immediately or later                  before it
 *   slow-kill  SIGKILL while its writes take seconds                    before it
 *   kill-all   SIGKILL of every program at the same time                before it
 *   lose-disk  SIGKILL, and loss of the program's disk                  before it
 *   freeze     SIGSTOP for longer than the session timeout, SIGCONT     before it, and until it has joined again
 *   silence    its connections are silent for longer than that          the same
 *   cut        its connections to the broker are reset several times    the same
 *   broker     SIGKILL of a broker; a restart later                     the same
 *   proxy      the forward proxy of a destination ends its tunnels,     what was in them
 *              then refuses connections, rejects or ignores CONNECT
 *
 * `cluster-faults.ts` has the faults that need several brokers.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { Prng } from "../support/clock/prng.ts";
import { type ForwardProxy, type ProxyManner, respond } from "../support/servers/forward-proxy.ts";
import type { Member } from "./member.ts";
import { SESSION_TIMEOUT_MS, TIMEOUT_MS } from "./setup.ts";
import type { MortalBroker } from "./surroundings.ts";
import { type Exposure, STARVED } from "./violation.ts";

/** Steps this long before a fault may be uncommitted. Commits are a second apart, and attempts are recorded late. */
export const BEFORE_MS = 4_000;
/** A request that was sent before a kill may be recorded after it. */
const AFTER_KILL_MS = 500;
/** Maximum time after which a failed consumer restarts (`kafka/consume/consumer.ts`). */
const BEGIN_AGAIN_MS = 5_000;
/**
 * How long it takes until programs that lost the broker have restarted their consumers, ended the attempts in progress,
 * and joined. The group waits for the previous members until their sessions expire.
 */
export const REJOINED_MS = BEGIN_AGAIN_MS + TIMEOUT_MS + SESSION_TIMEOUT_MS;

export interface FaultWorld {
  readonly random: Prng;
  readonly broker: MortalBroker;
  /** The programs that make up the pipeline. */
  readonly members: readonly Member[];
  /** A program with all stages that runs only while a fault needs it. */
  readonly spare: Member;
  readonly setSick: (isSick: boolean) => void;
  /** The forward proxy, and when it was down; null if no destination has one. */
  readonly forward: { readonly proxy: ForwardProxy; readonly outages: Exposure[] } | null;
  readonly exposures: Exposure[];
  /** Members that a fault affects at the moment. */
  readonly busy: Set<Member>;
  /** Reports something that must not happen, even if all deliveries are correct. */
  readonly fail: (says: string) => void;
  readonly say: (line: string) => void;
}

export type Fault = (world: FaultWorld) => Promise<void>;

const GRACEFUL: Readonly<Record<string, Fault>> = {
  stop: (world) =>
    withMember(world, async (member) => {
      await stop(world, member);
      await sleep(world.random.integer(0, 2_000));
      await member.start();
    }),
  "slow-stop": (world) =>
    withMember(world, async (member) => {
      member.proxy.hold("writes");
      await sleep(world.random.integer(500, 2_500));
      const stopped = stop(world, member);
      await sleep(world.random.integer(0, 3_000));
      member.proxy.release();
      await stopped;
      await member.start();
    }),
  replace: (world) =>
    withSpare(world, () => withMember(world, (member) => stopAndStart(world, member))),
  join: (world) => withSpare(world, () => sleep(world.random.integer(1_000, 4_000))),
  sick: async ({ random, setSick }) => {
    setSick(true);
    await sleep(random.integer(3_000, 10_000));
    setSick(false);
  },
};

const VIOLENT: Readonly<Record<string, Fault>> = {
  kill: (world) =>
    withMember(world, async (member) => {
      const over = expose(world, "kill");
      await member.kill();
      over(AFTER_KILL_MS);
      await sleep(world.random.pick([0, 0, world.random.integer(0, 8_000)]));
      await member.start();
    }),
  "slow-kill": (world) =>
    withMember(world, async (member) => {
      // A delivery whose write is pending is not processed, even if its attempt was long ago.
      const over = expose(world, "kill");
      member.proxy.hold("writes");
      await sleep(world.random.integer(1_000, 4_000));
      await member.kill();
      over(AFTER_KILL_MS);
      member.proxy.cut();
      member.proxy.release();
      await member.start();
    }),
  "lose-disk": (world) =>
    withMember(world, async (member) => {
      const over = expose(world, "kill");
      await member.kill();
      over(AFTER_KILL_MS);
      member.loseDisk();
      await member.start();
    }),
  "kill-all": async (world) => {
    const all = world.members.filter((member) => !world.busy.has(member));
    for (const member of all) world.busy.add(member);
    const over = expose(world, "kill");
    await Promise.all(all.map((member) => member.kill()));
    over(AFTER_KILL_MS);
    await Promise.all(all.map((member) => member.start()));
    for (const member of all) world.busy.delete(member);
  },
  freeze: (world) =>
    withMember(world, async (member) => {
      const over = expose(world, "freeze");
      member.freeze();
      await sleep(SESSION_TIMEOUT_MS + world.random.integer(1_000, 5_000));
      member.thaw();
      over(REJOINED_MS);
    }),
  silence: (world) =>
    withMember(world, async (member) => {
      const over = expose(world, "silence");
      member.proxy.hold("everything");
      await sleep(SESSION_TIMEOUT_MS + world.random.integer(1_000, 8_000));
      member.proxy.release();
      over(REJOINED_MS);
    }),
  cut: (world) =>
    withMember(world, async (member) => {
      const over = expose(world, "cut");
      for (let times = world.random.integer(1, 4); times > 0; times -= 1) {
        member.proxy.cut();
        await sleep(world.random.integer(50, 1_500));
      }
      over(REJOINED_MS);
    }),
  broker: async (world) => {
    const over = expose(world, "broker");
    await world.broker.kill();
    await sleep(world.random.pick([500, 3_000, SESSION_TIMEOUT_MS + 3_000]));
    await world.broker.restart();
    over(REJOINED_MS);
  },
  proxy: async (world) => {
    const { random, forward } = world;
    if (forward === null) return;
    const { proxy, outages } = forward;
    const over = expose(world, "proxy");
    await proxy.stop();
    over(AFTER_KILL_MS);
    const fromMs = Date.now();
    const failure = random.pick(PROXY_FAILURES);
    if (failure !== null) {
      proxy.manner = failure;
      await proxy.start();
    }
    await sleep(random.integer(2_000, 20_000));
    outages.push({ kind: "proxy", fromMs, toMs: Date.now() });
    proxy.manner = "tunnel";
    if (failure === null) await proxy.start();
  },
};

const PROXY_FAILURES: readonly (ProxyManner | null)[] = [
  null,
  (socket) => respond(socket, 407),
  (socket) => socket.resetAndDestroy(),
  () => undefined,
];

const ALL: Readonly<Record<string, Fault>> = { ...GRACEFUL, ...VIOLENT };
export const FAULT_KINDS: readonly string[] = Object.keys(ALL);

export function isGraceful(kind: string): boolean {
  return kind in GRACEFUL;
}

/** Runs a fault, and resolves when it is over. Programs may still be joining then. */
export async function inject(kind: string, world: FaultWorld): Promise<void> {
  await ALL[kind]?.(world);
}

/**
 * Waits until no earlier fault can cause a repetition of what was done before now. Starvation by the machine is
 * ignored, because on a busy machine it might never end.
 */
export async function untilCalm(exposures: readonly Exposure[]): Promise<void> {
  const endMs = Math.max(0, ...exposures.map(({ kind, toMs }) => (kind === STARVED ? 0 : toMs)));
  await sleep(Math.max(0, endMs + 1 - Date.now()));
}

/** Starts an exposure. Returns a function that ends the exposure this many milliseconds after it is called. */
export function expose(
  { exposures }: Pick<FaultWorld, "exposures">,
  kind: string,
): (afterMs: number) => void {
  const fromMs = Date.now() - BEFORE_MS;
  const open: Exposure = { kind, fromMs, toMs: Number.POSITIVE_INFINITY };
  exposures.push(open);
  return (afterMs) => {
    exposures[exposures.indexOf(open)] = { kind, fromMs, toMs: Date.now() + afterMs };
  };
}

/** Ends the exposures of all faults, including faults that have failed. */
export function closeAll({ exposures }: Pick<FaultWorld, "exposures">): void {
  for (const [index, { kind, fromMs, toMs }] of exposures.entries()) {
    if (toMs === Number.POSITIVE_INFINITY)
      exposures[index] = { kind, fromMs, toMs: Date.now() + REJOINED_MS };
  }
}

async function withMember(world: FaultWorld, act: (member: Member) => Promise<void>) {
  const idle = world.members.filter((member) => member.isRunning && !world.busy.has(member));
  if (idle.length === 0) return;
  const member = world.random.pick(idle);
  world.busy.add(member);
  world.say(`  ${member.name}`);
  await act(member);
  world.busy.delete(member);
}

async function withSpare(world: FaultWorld, act: () => Promise<unknown>): Promise<void> {
  const { spare } = world;
  if (world.busy.has(spare)) return;
  world.busy.add(spare);
  await spare.start();
  await spare.ready();
  await act();
  await stop(world, spare);
  world.busy.delete(spare);
}

export async function stopAndStart(world: FaultWorld, member: Member): Promise<void> {
  await stop(world, member);
  await member.start();
  await member.ready();
}

async function stop({ exposures, fail }: FaultWorld, member: Member): Promise<void> {
  // The signal itself would end a program that has just been started.
  await member.ready().catch(() => undefined);
  const askedAtMs = Date.now();
  const status = await member.stop();
  const isHindered = exposures.some(({ toMs }) => toMs > askedAtMs);
  if (status !== 0 && !isHindered) fail(`${member.name} ended with ${status} after SIGTERM`);
}
