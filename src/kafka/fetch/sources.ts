/**
 * The sources of a process, by broker. A broker has more than one only if two groups read the same partition,
 * because a session can contain a partition only once.
 */

import { hostAndPort } from "../../base/runtime/listening.ts";
import type { BrokerAddress } from "../broker/address.ts";
import type { SharedConnections } from "../broker/shared-connections.ts";
import type { Cursor } from "./cursor.ts";
import { type FetchOutages, FetchSource } from "./source.ts";

const LOOK_EVERY_MS = 2_500;
const UNUSED_MS = 60_000;

interface SourcesOptions {
  readonly connections: SharedConnections;
  readonly outagesOf: (broker: string) => FetchOutages;
  /** Called when a broker's request has failed, with the topics that are read from it. */
  readonly onLost: (topics: ReadonlySet<string>) => void;
}

/** Shared by the consumers of a process. Idle while there are no cursors. The caller must close it. */
export class FetchSources {
  readonly #options: SourcesOptions;
  readonly #sources = new Map<string, FetchSource[]>();
  #looks: NodeJS.Timeout | undefined;

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  /** The cursor is read from the broker at this address from now on. */
  place(cursor: Cursor, address: BrokerAddress): void {
    const broker = hostAndPort(address.host, address.port);
    const sources = this.#sources.get(broker) ?? [];
    this.#sources.set(broker, sources);
    let source = sources.find((each) => each.attach(cursor));
    if (source === undefined) {
      source = this.#create(broker, address);
      sources.push(source);
      source.attach(cursor);
    }
    cursor.setSource(source);
    this.#looks ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#looks);
    for (const source of [...this.#sources.values()].flat()) source.close();
  }

  #create(broker: string, address: BrokerAddress): FetchSource {
    const { connections, outagesOf, onLost } = this.#options;
    const connection = connections.broker(address).createConnection();
    return new FetchSource({ connection, broker, outages: outagesOf(broker), onLost });
  }

  #look(): void {
    for (const [broker, sources] of this.#sources) {
      for (const source of sources) {
        source.look();
        source.closeIfUnused(UNUSED_MS);
      }
      const used = sources.filter(({ isUnused }) => !isUnused);
      if (used.length === 0) this.#sources.delete(broker);
      else this.#sources.set(broker, used);
    }
  }
}
