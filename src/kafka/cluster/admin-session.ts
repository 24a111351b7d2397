/**
 * Runs admin calls one at a time, each with a time limit. A call of many requests, such as the creation of
 * thousands of topics, has the limit for each step that it reports.
 *
 * kafkajs' admin client hangs on concurrent requests, and stays broken after the deletion of a topic that it has used.
 * So a client that failed is dropped, and unless that client was new, the call is repeated once with a new client.
 * While a partition moves to another leader, calls are repeated for a few seconds. Because of these repetitions, every
 * call must be idempotent.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Grant } from "../../domain/permissions.ts";
import { asError } from "../../runtime/as-error.ts";
import type { DriverAdmin } from "../kafkajs/client.ts";
import type { BrokerPool } from "../kafkajs/internals.ts";
import { ClosedError, MissingPermissionError } from "../port.ts";
import { Brokers } from "./brokers.ts";
import type { Client, Clients } from "./connection.ts";
import { errorSentence, errorTypes } from "./kafka-error.ts";
import { withPermission } from "./permission.ts";

const CALL_LIMIT_MS = 30_000;
/** An unused client is closed after this time. */
const IDLE_LIMIT_MS = 1_000;
/** The number of times that kafkajs retries each step; callers handle longer outages. */
const RETRIES = 3;
/**
 * Errors that end soon: a leader or controller is being elected, or kafkajs has started to authenticate on a connection
 * that is already authenticating.
 */
const PASSING = [
  "NOT_LEADER_FOR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_CONTROLLER",
  "ILLEGAL_SASL_STATE",
];
const ELECTION_LIMIT_MS = 5_000;
const ELECTION_STEP_MS = 500;

export interface AdminClient {
  readonly admin: DriverAdmin;
  /** A connected pool, for requests that kafkajs' admin does not support. */
  readonly pool: BrokerPool;
  /** For requests to a specific broker; connects when first used. */
  readonly brokers: Brokers;
}

type Act<Result> = (client: AdminClient, onStep: () => void) => Promise<Result>;

interface Open extends AdminClient {
  readonly client: Client;
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
          if (isNew) await Promise.all([open.admin.connect(), open.pool.connect()]);
          return await act(open, onStep);
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
    const client = this.#clients.create(RETRIES);
    const pool = client.brokerPool();
    this.#open = {
      client,
      admin: client.admin(),
      pool,
      brokers: new Brokers({ brokerPool: () => pool }),
      isNew: true,
    };
    return this.#open;
  }

  #drop(): void {
    clearTimeout(this.#idle);
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    // Disconnecting only lets kafkajs clear its timers; the sockets are closed immediately.
    for (const end of [open.admin.disconnect(), open.pool.disconnect()]) end.catch(() => undefined);
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
