/** A running product with calls for it and the truth, which is checked until all signals are correct. */

import { setTimeout as timer } from "node:timers/promises";

import type { DestinationId } from "../../src/domain/ids.ts";
import { Ledger } from "../support/kit/ledger.ts";
import type { Comparison } from "./comparison.ts";
import { destinationSignals } from "./destination-signals.ts";
import { type Expected, FINE } from "./expected.ts";
import { Judge, type Row } from "./judge.ts";
import { KafkaTruth } from "./kafka-truth.ts";
import { type Look, takeLook } from "./look.ts";
import type { DrillOptions } from "./problem.ts";
import {
  type DestinationNeed,
  IDLE,
  Product,
  type ProductOptions,
  RETRY_DELAYS_MS,
  WELL,
} from "./product.ts";

/** The time between two checks, long enough for commits that follow a report to become part of the truth. */
const LOOK_SPACING_MS = 1_500;

/** A call every 100 ms. */
const LOAD = { calls: 1, everyMs: 100 };

export interface Said {
  readonly problem: string;
  readonly about: string;
  readonly comparisons: readonly Comparison[];
  /** True if the signals must never be false, even for a moment. */
  readonly isAlways: boolean;
}

export class DrilledWorld implements AsyncDisposable {
  readonly product: Product;
  readonly #sent: Ledger;
  readonly #load: AsyncDisposable;
  readonly #kafka: KafkaTruth;
  readonly #options: DrillOptions;

  private constructor(product: Product, kafka: KafkaTruth, options: DrillOptions) {
    this.product = product;
    this.#kafka = kafka;
    this.#options = options;
    this.#sent = new Ledger(product.kafka.producer, product.topics.calls);
    this.#load = this.#sent.load(LOAD);
  }

  static async start(
    destinations: readonly DestinationNeed[],
    options: DrillOptions,
    more: Partial<ProductOptions> = {},
  ): Promise<DrilledWorld> {
    const { brokers } = options;
    const product = await Product.start({ brokers, destinations, ...more });
    const kafka = new KafkaTruth(brokers, product.kafka.prefix);
    try {
      await kafka.follow(followed(product));
      return new DrilledWorld(product, kafka, options);
    } catch (error) {
      await kafka[Symbol.asyncDispose]();
      await product[Symbol.asyncDispose]();
      throw error;
    }
  }

  look(): Promise<Look> {
    return takeLook(this.product, this.#sent, this.#kafka);
  }

  /**
   * Repeats checks until all signals are correct and stay correct for a while, or until the time is over. Returns the
   * rows.
   *
   * @param leastMs the minimum time for which checks are repeated.
   */
  async settle(
    phase: string,
    limitMs: number,
    saidOf: (look: Look) => readonly Said[],
    leastMs = 0,
  ): Promise<readonly Row[]> {
    const startedAtMs = Date.now();
    const judges = new Map<string, { readonly said: Said; readonly judge: Judge }>();
    const tookMs = () => Date.now() - startedAtMs;
    const lastMs = leastMs + limitMs * this.#options.patience;
    const { settledLooks } = this.#options;
    let settled = 0;
    while ((settled < settledLooks || tookMs() < leastMs) && tookMs() < lastMs) {
      const look = await this.look();
      for (const said of saidOf(look)) {
        const key = `${said.problem} ${said.about}`;
        const found = judges.get(key) ?? { said, judge: new Judge(startedAtMs) };
        judges.set(key, found);
        found.judge.take(said.comparisons, look.toMs);
      }
      const wrong = [...judges.values()].flatMap(({ said, judge }) =>
        judge.wrong.map(({ signal, ...each }) => ({ ...each, signal: `${said.about}: ${signal}` })),
      );
      settled = wrong.length === 0 ? settled + 1 : 0;
      this.#report(phase, startedAtMs, wrong);
      await timer(LOOK_SPACING_MS);
    }
    return [...judges.values()].flatMap(({ said, judge }) =>
      judge.rows({ problem: said.problem, about: said.about, phase }, said.isAlways),
    );
  }

  #report(phase: string, startedAtMs: number, wrong: readonly Comparison[]): void {
    const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
    const [first] = wrong;
    const most = first && `, such as ${first.signal}: ${first.said}, is ${first.truth}`;
    this.#options.say(`${phase} for ${seconds} s: ${wrong.length} not true${most ?? ""}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#load[Symbol.asyncDispose]();
    await this.#kafka[Symbol.asyncDispose]();
    await this.product[Symbol.asyncDispose]();
  }
}

/** The expected signals of destinations that have no problem, regardless of the problems of others. */
export function fineOf(
  look: Look,
  about: { readonly problem: string; readonly isAlways: boolean },
  ids: readonly DestinationId[] = BYSTANDERS,
): readonly Said[] {
  return ids.map((id) => ({
    ...about,
    about: id,
    comparisons: destinationSignals(look, id, id === IDLE ? UNTRIED : FINE),
  }));
}

const UNTRIED: Expected = { ...FINE, state: "idle" };

/** The topics whose records are read. */
function followed({ topics }: Product): readonly string[] {
  return [...RETRY_DELAYS_MS.map(topics.delays), topics.deadLetters];
}

const BYSTANDERS: readonly DestinationId[] = [WELL, IDLE];
