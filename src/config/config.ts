/** The configuration as the program uses it: complete, checked, with units. */

import type { Network } from "../domain/addresses.ts";
import type { Destination, Source } from "../domain/destination.ts";
import type { SourceId } from "../domain/ids.ts";
import type { OwnTopicNames } from "../domain/topics.ts";

/** PEM texts; null: none. */
export interface TlsFiles {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

export type Sasl =
  | {
      readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: "oauthbearer";
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope: string | null;
    };

export interface Config {
  readonly kafka: {
    /** `host:port`, at least one. */
    readonly brokers: readonly string[];
    readonly topicPrefix: string;
    readonly topics: OwnTopicNames;
    /** Null: plaintext. */
    readonly tls: TlsFiles | null;
    readonly sasl: Sasl | null;
    readonly partitions: number;
    /** Null: the broker's default. */
    readonly replicationFactor: number | null;
    readonly sessionTimeoutMs: number;
    readonly createTopics: boolean;
    /** How long an unreachable Kafka is tried again at start. */
    readonly startTimeoutMs: number;
  };
  readonly sources: readonly Source[];
  readonly defaultSource: SourceId | null;
  readonly destinations: readonly Destination[];
  readonly delivery: {
    /** At most 5 s. */
    readonly timeoutMs: number;
    /** At most 4 h. */
    readonly windowMs: number;
    /** At least one; never falling. The last one repeats. */
    readonly delaysMs: readonly number[];
    /** Networks that may be called although they are private. */
    readonly allowNetworks: readonly Network[];
    /** PEM text of a private CA. */
    readonly ca: string | null;
  };
  readonly admin: { readonly host: string; readonly port: number };
  readonly log: { readonly level: "debug" | "info" | "warn" | "error" };
}
