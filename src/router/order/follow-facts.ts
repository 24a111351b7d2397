/**
 * Follows the topic `order.<destination>` (`../control/follow-topic.ts`), and keeps the facts that it contains.
 *
 *   event                                   result
 *   the whole topic has been read           its facts replace those that were known; listeners get each of them
 *   a fact is written                       it applies; the listener of its partition gets it
 *   this process has written `settled`      the same, as soon as the record is acknowledged
 *   a record is not a fact                  it has no effect
 *   the topic cannot be read                what is known stays in force; log and `/readyz` report it. Deliveries of users
 *                                           who are free continue
 *   the topic was recreated, or lost        facts that were known still apply; the owners of partitions write them again
 *   records                                 (`OnFact.lost`). What no process knew is lost: deliveries may be overtaken, and those
 *                                           that waited are not attempted
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { type FollowDeps, FollowedTopic, type WholeReading } from "../control/follow-topic.ts";
import { type Fact, Facts, readFact } from "./facts.ts";

/** Called by the facts of one partition of the queue. */
export interface OnFact {
  /** Called with facts that are not tombstones. It may get a fact more than once. */
  fact(fact: Fact): void;
  /** Facts that were known may not be in the topic any more. */
  lost(): void;
}

/** By the name of a partition of the queue (`lineOf`). */
type ByLine = Map<string, Facts>;

const NONE = new Facts();

/** Starts reading immediately. */
export class FollowedFacts implements Disposable {
  readonly #topic: string;
  readonly #log: Log;
  readonly #followed: FollowedTopic;
  readonly #listeners = new Map<string, OnFact>();
  /** Replaced when the whole topic has been read again. */
  #lines: ByLine = new Map();
  #hasLost = false;
  /** True until a whole reading has ended after records were lost. */
  #isRecovering = false;

  constructor(deps: FollowDeps & { readonly log: Log }, topic: string) {
    this.#topic = topic;
    this.#log = deps.log;
    this.#followed = new FollowedTopic(deps, topic, {
      startReading: (hasLost) => this.#startReading(hasLost),
      take: (records) => {
        for (const record of records) this.#apply(record, this.#lines, true);
      },
      onFailed: (thrown, isLogged) => {
        const error = asError(thrown).message;
        if (!isLogged) deps.log.error({ topic, error }, "order.read-failed");
        return true;
      },
    });
  }

  /** The facts about one partition of the queue. */
  of(line: string): Facts {
    return this.#lines.get(line) ?? NONE;
  }

  /** Resolves when the facts that exist now have been read. */
  caughtUp(): Promise<void> {
    return this.#followed.caughtUp();
  }

  /** Returns a function that ends it. A partition has one listener, that of its newest owner in this process. */
  onFact(line: string, listener: OnFact): () => void {
    this.#listeners.set(line, listener);
    return () => {
      if (this.#listeners.get(line) === listener) this.#listeners.delete(line);
    };
  }

  /** Call when a fact `settled` that this process has written is acknowledged. */
  settled(line: string, fact: Fact, nowMs: number): void {
    factsOf(this.#lines, line).apply(fact, true, nowMs);
    this.#listeners.get(line)?.fact(fact);
  }

  healthProblems(): readonly string[] {
    const topic = this.#topic;
    const { error } = this.#followed;
    const problems: string[] = [];
    if (error !== null) problems.push(`the topic ${topic} cannot be read: ${error}`);
    if (this.#hasLost) {
      problems.push(
        `the topic ${topic} was recreated or lost records, so deliveries that waited on partitions without an owner are not attempted any more: replay their calls`,
      );
    }
    return problems;
  }

  [Symbol.dispose](): void {
    this.#followed[Symbol.dispose]();
  }

  #startReading(hasLost: boolean): WholeReading {
    if (hasLost) {
      this.#hasLost = true;
      this.#isRecovering = true;
      this.#log.error({ topic: this.#topic }, "order.lost");
    }
    const lines: ByLine = this.#isRecovering ? this.#lines : new Map();
    return {
      take: (record) => this.#apply(record, lines, false),
      done: () => {
        this.#lines = lines;
        for (const [line, listener] of this.#listeners) {
          for (const fact of this.of(line).all()) listener.fact(fact);
          if (this.#isRecovering) listener.lost();
        }
        this.#isRecovering = false;
      },
    };
  }

  #apply(record: IncomingRecord, lines: ByLine, isNew: boolean): void {
    const read = readFact(record);
    if (read === null) return;
    const { line, fact, isThere } = read;
    factsOf(lines, line).apply(fact, isThere, record.timestampMs);
    if (isNew && isThere) this.#listeners.get(line)?.fact(fact);
  }
}

function factsOf(lines: ByLine, line: string): Facts {
  const known = lines.get(line);
  if (known !== undefined) return known;
  const facts = new Facts();
  lines.set(line, facts);
  return facts;
}
