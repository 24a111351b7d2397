/**
 * Looks up which topics exist, before records are returned to them. A topic that is not in an old list may have been
 * created since then, so only a new list proves that a topic does not exist.
 *
 *   the topic is              in the list's first second    later
 *   in the list               exists                        exists; after 10 s the list is renewed
 *   not in the list           missing, if the brokers were  unknown: the list is renewed first, and the brokers
 *                             asked about it, too           are asked about the topic
 *   hidden by the brokers     exists                        exists
 *   created when missing      exists                        exists
 *
 * The list lacks the topics that this process may not describe, for example while an ACL is replaced. They may exist,
 * so the producer decides: what it may not write is rerouted.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { RerouteRules } from "../../domain/reroute.ts";
import type { Admin } from "../../kafka/port.ts";
import type { Places } from "./due.ts";

const CERTAIN_MS = 1_000;
const RENEW_AFTER_MS = 10_000;
const LOOKUP_AGAIN_MS = 1_000;
/** Limits the memory, because any program that may write to a delay topic can name destinations that do not exist. */
const ASKED_MAX = 10_000;

interface LookupDeps {
  readonly kafka: { readonly admin: Pick<Admin, "topics" | "describe"> };
  readonly clock: Clock;
  /** Recreates missing topics; absent if nothing does. */
  readonly rerouting?: { readonly rules: Pick<RerouteRules, "isMade"> };
}

export class TopicLookup implements Places {
  readonly #deps: LookupDeps;
  /** The topics that are missing from lists, and about which the brokers are asked with each list. */
  readonly #asked = new Set<string>();
  /** The last list with the hidden topics, the topics that were missing then, and when it arrived. */
  #topics: ReadonlySet<string> = new Set();
  #missing: ReadonlySet<string> = new Set();
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  /** The request for a list that is in progress; resolves with false if it fails. */
  #underWay: Promise<boolean> | null = null;
  #healthProblem: string | null = null;

  constructor(deps: LookupDeps) {
    this.#deps = deps;
  }

  exists(topic: string): boolean {
    if (this.#ageMs(this.#deps.clock.nowMs()) >= RENEW_AFTER_MS) void this.#request();
    return this.#isKnown(topic);
  }

  isCertain(topic: string, nowMs: number): boolean {
    if (this.#isKnown(topic)) return true;
    if (this.#missing.has(topic) && this.#ageMs(nowMs) < CERTAIN_MS) return true;
    this.#asked.add(topic);
    return false;
  }

  /** Fetches the list of topics again. Resolves when the list has arrived or, after a failure, after a pause. */
  async renew(signal: AbortSignal): Promise<void> {
    if (!(await this.#request())) await this.#deps.clock.sleep(LOOKUP_AGAIN_MS, signal);
  }

  healthProblems(): readonly string[] {
    return this.#healthProblem === null ? [] : [this.#healthProblem];
  }

  #isKnown(topic: string): boolean {
    return this.#topics.has(topic) || this.#deps.rerouting?.rules.isMade(topic) === true;
  }

  /** If the clock was set back, every list counts as old. */
  #ageMs(nowMs: number): number {
    return Math.abs(nowMs - this.#renewedAtMs);
  }

  #request(): Promise<boolean> {
    this.#underWay ??= this.#list();
    return this.#underWay;
  }

  /** Never rejects. */
  async #list(): Promise<boolean> {
    const { kafka, clock } = this.#deps;
    try {
      const listed = new Set(await kafka.admin.topics());
      const asked = [...this.#asked].filter((topic) => !listed.has(topic));
      const found = asked.length === 0 ? [] : await kafka.admin.describe(asked, [], true);
      this.#topics = new Set([...listed, ...found.map(({ name }) => name)]);
      this.#missing = new Set(asked.filter((topic) => !this.#topics.has(topic)));
      for (const topic of this.#topics) this.#asked.delete(topic);
      if (this.#asked.size > ASKED_MAX) this.#asked.clear();
      this.#renewedAtMs = clock.nowMs();
      this.#healthProblem = null;
    } catch (error) {
      this.#healthProblem = `the topics cannot be listed: ${asError(error).message}`;
    }
    this.#underWay = null;
    return this.#healthProblem === null;
  }
}
