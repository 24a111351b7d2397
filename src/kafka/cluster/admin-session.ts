/**
 * Runs admin calls one at a time, each with a time limit.
 *
 * kafkajs' admin client hangs on concurrent requests and stays broken once a topic that it has seen is
 * deleted. So a client that failed is dropped, and unless it was new, the call is repeated once with a
 * new one: every call must be idempotent. The same happens for a few seconds while a partition moves
 * to another leader.
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
/** Retries of each kafkajs step; callers decide about longer outages. */
const RETRIES = 3;
/** An election (of a controller too), or kafkajs authenticates on a connection that is already doing so. */
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
  /** Connected, for requests that kafkajs' admin does not have. */
  readonly pool: BrokerPool;
  /** Connects when it is used, for requests to a specific broker. */
  readonly brokers: Brokers;
}

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
   * Runs `act` after the previous calls.
   *
   * @param needed the permissions that it needs, for the error if one is missing.
   */
  call<Result>(
    name: string,
    act: (client: AdminClient) => Promise<Result>,
    needed: readonly Grant[] = [],
  ): Promise<Result> {
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

  /** Calls in flight end with an error. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#drop();
    await this.#last;
  }

  async #attempt<Result>(
    name: string,
    act: (client: AdminClient) => Promise<Result>,
    needed: readonly Grant[],
  ): Promise<Result> {
    const untilMs = performance.now() + ELECTION_LIMIT_MS;
    for (;;) {
      const open = this.#open ?? this.#create();
      const { isNew } = open;
      open.isNew = false;
      try {
        return await this.#withLimit(async () => {
          if (isNew) await Promise.all([open.admin.connect(), open.pool.connect()]);
          return await act(open);
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
      brokers: new Brokers({ ...client, anyBrokerPool: () => pool }),
      isNew: true,
    };
    return this.#open;
  }

  #drop(): void {
    clearTimeout(this.#idle);
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    // Only lets kafkajs clear its timers; the sockets are closed immediately.
    for (const end of [open.admin.disconnect(), open.pool.disconnect()]) end.catch(() => undefined);
    open.brokers.close();
    open.client.destroy();
  }

  async #withLimit<Result>(act: () => Promise<Result>): Promise<Result> {
    const ended = new AbortController();
    const limit = sleep(this.#limitMs, undefined, { signal: ended.signal }).then(() => {
      throw new Error(`no response within ${this.#limitMs} ms`);
    });
    try {
      return await Promise.race([act(), limit]);
    } finally {
      limit.catch(() => undefined);
      ended.abort();
    }
  }
}

function isPassing(cause: unknown): boolean {
  const types = errorTypes(cause);
  return PASSING.some((type) => types.has(type));
}
