/**
 * Compares the alerts of deploy/prometheus in each problem with the expected ones, using a real Prometheus that scrapes
 * the program.
 *
 * The rules are sixty times faster, so that a drill does not take hours: one minute is one second, or several seconds
 * with the option for busy machines. Signals of the program are not faster.
 *
 *   while                            alerts that fire
 *   all is fine, for 20 "minutes"    none; the time is longer than the longest `for:`, 15 "minutes"
 *   there is a problem               only the alerts of this problem and its destination
 *   the problem has ended            none, when the ranges over which they count are over
 */

import { setTimeout as timer } from "node:timers/promises";

import { until } from "../support/kit/until.ts";
import {
  type Alert,
  hurriedRules,
  type Prometheus,
  RULES,
  startPrometheus,
} from "../support/servers/prometheus.ts";
import { expectedOf } from "./expected-alerts.ts";
import type { Row } from "./judge.ts";
import type { DrillHooks } from "./problem.ts";
import type { Product } from "./product.ts";

const LOOK_SPACING_MS = 1_000;
const QUIET_MS = 20_000;
/** Number of checks without an alert after which there counts as no problem. */
const SETTLED_LOOKS = 8;
/** The alert about a destination on hold fires after an hour, which is a minute here. */
const FIRES_LIMIT_MS = 150_000;
/** Longer than circuits take to close, and longer than the ranges over which alerts count. */
const QUIET_AGAIN_LIMIT_MS = 150_000;

/** Alerts about the machine rather than a problem. They are correct if the machine has too little CPU. */
const OF_THE_MACHINE = ["SwitchyardEventLoopBlocked"];
/** With the faster rules, this alert fires after 5 s without a fetch, which a consumer that restarts may need. */
const TOO_QUICK = ["SwitchyardConsumerStalled"];
const SKIPPED_SUITES = [...OF_THE_MACHINE, ...TOO_QUICK];

/**
 * Watches alerts during a drill. Pass its hooks to the drill; afterwards, it has the rows. Drill one world at a time.
 */
export class AlertWatch implements AsyncDisposable {
  readonly rows: readonly Row[];
  readonly hooks: DrillHooks = {
    onFine: (product) => this.#begin(product),
    onHealthProblem: (product, names) => this.#problem(product, names),
    onMended: (_, names) => this.#mended(names),
  };
  readonly #rows: Row[] = [];
  readonly #folder: string;
  readonly #patience: number;
  readonly #say: (line: string) => void;
  #prometheus: Prometheus | null = null;

  /**
   * @param folder the folder of Prometheus' binaries.
   * @param patience how much longer an alert may take on a busy machine.
   */
  constructor(folder: string, patience: number, say: (line: string) => void) {
    this.rows = this.#rows;
    this.#folder = folder;
    this.#patience = patience;
    this.#say = say;
  }

  async #begin({ admin }: Product): Promise<void> {
    const prometheus = await startPrometheus(
      this.#folder,
      [admin],
      hurriedRules(RULES, this.#patience),
    );
    this.#prometheus = prometheus;
    // Before the first scrapes, Prometheus has no data about any process.
    let quietLooks = 0;
    await this.#until(async () => {
      quietLooks = (await fired(prometheus)).length === 0 ? quietLooks + 1 : 0;
      return quietLooks === SETTLED_LOOKS;
    }, QUIET_MS);
    const seen = new Set<string>();
    const untilMs = Date.now() + QUIET_MS * this.#patience;
    while (Date.now() < untilMs) {
      for (const alert of await fired(prometheus)) seen.add(reported(alert));
      await timer(LOOK_SPACING_MS);
    }
    this.#add({ problem: "none", phase: "before", signal: "alerts", ...none([...seen]) }, null);
  }

  async #problem({ destinations }: Product, names: readonly string[]): Promise<void> {
    const prometheus = this.#running();
    const about = (name: string) => destinations.find((id) => id === name) ?? null;
    const wanted = names.flatMap((name) =>
      expectedOf(name).fire.map((alert) => ({ problem: name, alert, destination: about(name) })),
    );
    const allowed = names.flatMap((name) => {
      const { fire, mayFire = [] } = expectedOf(name);
      return [...fire, ...mayFire].map((alert) => ({ name: alert, destination: about(name) }));
    });
    const sinceMs = Date.now();
    const firedAfterMs = new Map<object, number>();
    const others = new Set<string>();
    await this.#until(async () => {
      const alerts = await fired(prometheus);
      for (const want of wanted) {
        if (!firedAfterMs.has(want) && alerts.some((alert) => isOf(alert, want.alert, want)))
          firedAfterMs.set(want, Date.now() - sinceMs);
      }
      const isAllowed = (alert: Alert) => allowed.some((each) => isOf(alert, each.name, each));
      for (const alert of alerts) if (!isAllowed(alert)) others.add(reported(alert));
      return firedAfterMs.size === wanted.length;
    }, FIRES_LIMIT_MS);
    for (const want of wanted) {
      const afterMs = firedAfterMs.get(want) ?? null;
      const said = afterMs === null ? "is quiet" : "fires";
      const row = { signal: want.alert, said, truth: "fires", ok: afterMs !== null };
      this.#add({ problem: want.problem, phase: "during", ...row }, afterMs);
    }
    const rest = { problem: names.join("+"), phase: "during", signal: "other alerts" };
    this.#add({ ...rest, ...none([...others]) }, null);
  }

  async #mended(names: readonly string[]): Promise<void> {
    const prometheus = this.#running();
    const sinceMs = Date.now();
    let left: readonly Alert[] = [];
    await this.#until(async () => {
      left = await fired(prometheus);
      return left.length === 0;
    }, QUIET_AGAIN_LIMIT_MS);
    const about = { problem: names.join("+"), phase: "mended", signal: "alerts" };
    this.#add({ ...about, ...none(left.map(reported)) }, Date.now() - sinceMs);
    await this[Symbol.asyncDispose]();
  }

  #running(): Prometheus {
    if (this.#prometheus === null) throw new Error("nothing was fine before");
    return this.#prometheus;
  }

  async #until(isOver: () => Promise<boolean>, limitMs: number): Promise<void> {
    await until(isOver, { limitMs: limitMs * this.#patience, everyMs: LOOK_SPACING_MS });
  }

  #add(row: Omit<Row, "about" | "afterMs">, afterMs: number | null): void {
    this.#say(`${row.problem}, ${row.phase}: ${row.signal}: ${row.said}`);
    this.#rows.push({ ...row, about: row.problem, afterMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prometheus?.[Symbol.asyncDispose]();
    this.#prometheus = null;
  }
}

async function fired(prometheus: Prometheus): Promise<readonly Alert[]> {
  return (await prometheus.alerts()).filter(({ name }) => !SKIPPED_SUITES.includes(name));
}

/** True if an alert belongs to the problem. Some alerts name no destination, even if the problem concerns one. */
function isOf(alert: Alert, name: string, about: { readonly destination: string | null }) {
  const isOfAnother = alert.destination !== null && about.destination !== null;
  return alert.name === name && (!isOfAnother || alert.destination === about.destination);
}

function reported({ name, destination }: Alert): string {
  return destination === null || destination === "" ? name : `${name} of ${destination}`;
}

function none(said: readonly string[]) {
  const truth = "none fires";
  return { said: said.length === 0 ? truth : said.join(", "), truth, ok: said.length === 0 };
}
