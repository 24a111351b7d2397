/**
 * How to reach the cluster. Handed in by `cli`, so that this folder does not know the configuration.
 *
 * `tls` and `sasl` are Read again for each connection and each log-in, so that certificates and
 * passwords can change meanwhile. The mechanism stays, and so does whether there are any.
 */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Null: plaintext. PEM texts; `ca` null: the public roots. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
    /** The name in the brokers' certificates; null: the host of each address. */
    readonly serverName: string | null;
  } | null;
  readonly sasl: KafkaSasl | null;
  readonly sessionTimeoutMs: number;
  /** Largest record (key, value and headers) that a topic takes; longest match first is the caller's. */
  readonly recordMaxBytes: (topic: string) => number;
}

export type KafkaSasl =
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
    }
  /** Amazon MSK, by the role that the process has. */
  | { readonly mechanism: "aws-msk-iam"; readonly region: string };
