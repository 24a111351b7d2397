/**
 * One connection to a broker that many use. It is made when it is first needed, and anew when it
 * broke; those who ask meanwhile wait for the same attempt. It is closed when nobody has used it for
 * a while: it comes back with the next request.
 */

import type { Socket } from "node:net";

import { type Broker, type BrokerPool, cutOff, type Protocol, type Versions } from "./internals.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface LineOptions {
  /**
   * Requests of one turn of the event loop go out in one write. Each would cost a system call, and
   * its answer another one.
   */
  readonly isGathered: boolean;
}

export class Line {
  readonly #isGathered: boolean;
  #isCorked = false;
  readonly #source: BrokerPool;
  readonly #address: Address;
  #broker: Broker | null = null;
  #opening: Promise<Broker> | null = null;
  #underWay = 0;
  #usedAtMs = performance.now();

  constructor(source: BrokerPool, address: Address, { isGathered }: LineOptions) {
    this.#isGathered = isGathered;
    this.#source = source;
    this.#address = address;
  }

  get isOpen(): boolean {
    return this.#opening === null && this.#broker !== null && isUp(this.#broker);
  }

  /** Of the latest connection. */
  get versions(): Versions | null {
    return this.#broker?.versions ?? null;
  }

  get isInUse(): boolean {
    return this.#underWay > 0 || this.#opening !== null;
  }

  async open(): Promise<Broker> {
    this.#usedAtMs = performance.now();
    if (this.#opening === null && this.#broker !== null && isUp(this.#broker)) return this.#broker;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return await this.#opening;
  }

  async send<Answer>(protocol: Protocol): Promise<Answer> {
    this.#underWay += 1;
    try {
      const { connectionPool } = await this.open();
      const [connection] = connectionPool.pool;
      if (this.#isGathered) this.#cork(connection?.socket);
      return (await connection?.send(protocol)) as Answer;
    } finally {
      this.#underWay -= 1;
      this.#usedAtMs = performance.now();
    }
  }

  /** kafkajs writes the request before the turn ends. */
  #cork(socket: Socket | undefined): void {
    if (this.#isCorked || socket === undefined) return;
    this.#isCorked = true;
    socket.cork();
    setImmediate(() => {
      this.#isCorked = false;
      socket.uncork();
    });
  }

  closeIfUnused(forMs: number): void {
    if (!this.isInUse && performance.now() - this.#usedAtMs >= forMs) this.close();
  }

  /** Requests under way fail. */
  close(): void {
    const broker = this.#broker;
    this.#broker = null;
    if (broker !== null) cutOff(broker);
  }

  async #connect(): Promise<Broker> {
    this.close();
    const connectionPool = await this.#source.connectionPoolBuilder.build(this.#address);
    const logger = this.#source.rootLogger;
    const broker = this.#source.createBroker({ logger, versions: null, connectionPool });
    this.#broker = broker;
    try {
      await broker.connect();
      return broker;
    } catch (error) {
      // A refused log-in leaves it in no state to be used.
      if (this.#broker === broker) this.close();
      throw error;
    }
  }
}

/** A log-in that is due again comes with the next request. */
function isUp({ connectionPool, versions }: Broker): boolean {
  return versions !== null && connectionPool.pool[0]?.isConnected() === true;
}
