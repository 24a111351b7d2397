/**
 * Runs admin calls one at a time, each with a time limit. A call of many requests, such as the creation of thousands of
 * topics, has this limit for each step that it reports.
 *
 * The session's connections are closed when they are unused, or when a call has failed. Unless they were new, the call
 * is then repeated once with new ones. While a partition moves to another leader, or a group to another coordinator,
 * calls are repeated for at most 10 s. Because of these repetitions, every call must be idempotent.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { asError } from "../../base/runtime/as-error.ts";
import type { Grant } from "../../domain/permissions.ts";
import { ClosedError, MissingPermissionError } from "../port.ts";
import { Brokers } from "./brokers.ts";
import type { Client, Clients } from "./connection.ts";
import { ELECTION_LIMIT_MS, errorSentence, errorTypes, NO_COORDINATOR } from "./kafka-error.ts";
import { withPermission } from "./permission.ts";

const CALL_LIMIT_MS = 30_000;
/** Unused connections are closed after this time. */
const IDLE_LIMIT_MS = 1_000;
/** The waits between attempts to connect to any broker; callers handle longer outages. */
const CONNECT_WAITS_MS = [300, 600, 1_200];
/**
 * Errors that end soon: a leader, controller or coordinator is being elected, or another authentication is in progress.
 */
const PASSING = [
  "NOT_LEADER_OR_FOLLOWER",
  "LEADER_NOT_AVAILABLE",
  "NOT_CONTROLLER",
  "ILLEGAL_SASL_STATE",
  ...NO_COORDINATOR,
];
const ELECTION_STEP_MS = 500;

type Act<Result> = (brokers: Brokers, onStep: () => void) => Promise<Result>;

interface Open {
  readonly client: Client;
  readonly brokers: Brokers;
  isNew: boolean;
}

export class AdminSession {
  readonly #clients: Clients;
  readonly #limitMs: number;
  readonly #electionStepMs: number;
  #open: Open | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(clients: Clients, limitMs = CALL_LIMIT_MS, electionStepMs = ELECTION_STEP_MS) {
    this.#clients = clients;
    this.#limitMs = limitMs;
    this.#electionStepMs = electionStepMs;
  }

  /**
   * Runs `act` after the previous calls have ended.
   *
   * @param act reports each step that it has completed to `onStep`, which starts the time limit again.
   * @param needed the permissions that the call needs, for the error if one is missing.
   */
  call<Result>(name: string, act: Act<Result>, needed: readonly Grant[] = []): Promise<Result> {
    const result = this.#last.then(async () => {
      if (this.#closed) throw new ClosedError(`admin.${name}: the Kafka client is closed`);
      clearTimeout(this.#idle);
      try {
        return await this.#attempt(name, act, needed);
      } finally {
        this.#idle = setTimeout(() => this.#drop(), IDLE_LIMIT_MS).unref();
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Ends calls in flight with an error. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#drop();
    await this.#last;
  }

  async #attempt<Result>(
    name: string,
    act: Act<Result>,
    needed: readonly Grant[],
  ): Promise<Result> {
    const untilMs = performance.now() + ELECTION_LIMIT_MS;
    for (;;) {
      const open = this.#open ?? this.#create();
      const { isNew } = open;
      open.isNew = false;
      try {
        return await this.#withLimit(async (onStep) => {
          if (isNew) await this.#connect(open.client);
          return await act(open.brokers, onStep);
        });
      } catch (cause) {
        this.#drop();
        if (!isNew && !this.#closed) continue;
        if (isPassing(cause) && performance.now() < untilMs) {
          await sleep(this.#electionStepMs);
          if (!this.#closed) continue;
        }
        const named = withPermission(asError(cause), needed, this.#clients.connection);
        if (named instanceof MissingPermissionError) throw named;
        throw new Error(`admin.${name}: ${errorSentence(cause)}`, { cause });
      }
    }
  }

  #create(): Open {
    const client = this.#clients.create();
    this.#open = { client, brokers: new Brokers({ shared: client.shared }), isNew: true };
    return this.#open;
  }

  /** Tries the configured addresses in turn. */
  async #connect({ shared }: Client): Promise<void> {
    for (const waitMs of CONNECT_WAITS_MS) {
      try {
        return await shared.any(async () => undefined);
      } catch (error) {
        if (!isRetriable(error) || this.#closed) throw error;
        await sleep(waitMs);
      }
    }
    await shared.any(async () => undefined);
  }

  #drop(): void {
    clearTimeout(this.#idle);
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    open.brokers.close();
    open.client.destroy();
  }

  async #withLimit<Result>(act: (onStep: () => void) => Promise<Result>): Promise<Result> {
    const { promise: limit, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Error(`no response within ${this.#limitMs} ms`));
    }, this.#limitMs);
    try {
      return await Promise.race([act(() => timer.refresh()), limit]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function isPassing(cause: unknown): boolean {
  const types = errorTypes(cause);
  return PASSING.some((type) => types.has(type));
}

/** `true` for lost connections; `false` for rejected credentials, and if no version of a request is accepted. */
function isRetriable(error: unknown): boolean {
  return (error as { readonly retriable?: unknown }).retriable === true;
}
