/**
 * Creates clients for a `KafkaConnection`, with its addresses, TLS, SASL and logging.
 *
 * All consumers, and requests that any broker can serve, use the same connections (`broker/shared-connections.ts`).
 */

import net from "node:net";
import type tls from "node:tls";
import { awsCredentials } from "../../base/runtime/aws-credentials.ts";
import { type Clock, systemClock } from "../../base/runtime/clock.ts";
import { hostAndPort } from "../../base/runtime/listening.ts";
import { mskToken } from "../../base/runtime/msk-token.ts";
import { tokenSource } from "../../base/runtime/oauth-token.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { withoutBrackets } from "../../domain/addresses.ts";
import { addressOf } from "../broker/address.ts";
import { BrokerConnection, type CreateBroker } from "../broker/broker-connection.ts";
import { ConnectionClosedError } from "../broker/errors.ts";
import { type ConnectionOptions, OpenConnection } from "../broker/open-connection.ts";
import type { Credentials } from "../broker/sasl.ts";
import { SharedConnections } from "../broker/shared-connections.ts";
import type { KafkaConnection } from "../port.ts";
import { OutageLog } from "./outage-log.ts";

export interface Client {
  /** Creates connections that nothing else uses. */
  readonly createBroker: CreateBroker;
  /** Closes all connections immediately; later attempts to connect fail. */
  destroy(): void;
  /** Connections for requests that any broker can serve. */
  readonly shared: SharedConnections;
}

/** The objects that all clients from one call of `createKafka` share. */
export class Clients {
  readonly connection: KafkaConnection;
  readonly outages: OutageLog;
  readonly throttles: Throttles;
  /** The clock for the times of written records and of everything that is reported. */
  readonly clock: Clock;
  readonly #credentials: Credentials | null;
  /** The client whose connections all members of this process share. */
  #shared: Client | null = null;

  constructor(connection: KafkaConnection, log: Log, clock: Clock = systemClock) {
    this.connection = connection;
    this.clock = clock;
    this.outages = new OutageLog(log, clock);
    this.throttles = new Throttles(log, clock);
    this.#credentials = credentialsOf(connection, clock);
  }

  /** Creates a client with its own connections. */
  create(): Client {
    const { createBroker, destroy } = this.#create();
    const seeds = this.connection.brokers.map(addressOf);
    const shared = new SharedConnections(createBroker, seeds, ({ host, port }) =>
      this.throttles.isThrottled(hostAndPort(host, port)),
    );
    return {
      createBroker,
      shared,
      destroy: () => {
        shared.close();
        destroy();
      },
    };
  }

  connections(): SharedConnections {
    this.#shared ??= this.create();
    return this.#shared.shared;
  }

  /** Creates a client with its own connections for records, and shared connections for queries. */
  createForRecords(): Client {
    return { ...this.#create(), shared: this.connections() };
  }

  /** Closes everything that is shared. */
  close(): void {
    this.#shared?.destroy();
  }

  #create(): Omit<Client, "shared"> {
    const open = new Set<OpenConnection>();
    let isDestroyed = false;
    const { clientId } = this.connection;
    const createBroker: CreateBroker = ({ host: given, port }, options = { isGathered: false }) => {
      // Brokers may advertise an IPv6 address in brackets.
      const host = withoutBrackets(given);
      const name = hostAndPort(host, port);
      const create = (): OpenConnection => {
        if (isDestroyed) throw new ConnectionClosedError("the client is closed");
        const connection: OpenConnection = new OpenConnection({
          clientId,
          host,
          port,
          name,
          tls: tlsOptions(this.connection, host),
          credentials: this.#credentials,
          onConnected: () => this.outages.recordConnection(name),
          onUnreachable: (error) => {
            if (!isDestroyed) this.outages.recordFailure(name, error);
          },
          onThrottled: (request, throttleMs) =>
            this.throttles.throttled({ broker: name, request, throttleMs }),
          onClosed: () => open.delete(connection),
        });
        open.add(connection);
        return connection;
      };
      return new BrokerConnection(create, options);
    };
    const destroy = (): void => {
      isDestroyed = true;
      for (const connection of open)
        connection.close(new ConnectionClosedError("the client is closed"));
    };
    return { createBroker, destroy };
  }
}

/** Read again for each connection, because files change while the process runs. */
function tlsOptions({ tls: options }: KafkaConnection, host: string): ConnectionOptions["tls"] {
  if (options === null) return undefined;
  const { ca, cert, key, serverName } = options;
  // Certificates are checked against this name, which several brokers may share.
  const servername = serverName ?? (net.isIP(host) === 0 ? host : undefined);
  return {
    ...(ca !== null && { ca: [ca] }),
    ...(cert !== null && { cert }),
    ...(key !== null && { key }),
    ...(servername !== undefined && { servername }),
    // Verification cannot be disabled, not even with NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
  } satisfies tls.ConnectionOptions;
}

/** Read again for each authentication, because passwords change while the process runs. */
function credentialsOf(connection: KafkaConnection, clock: Clock): Credentials | null {
  const { sasl } = connection;
  if (sasl === null) return null;
  if (sasl.mechanism === "oauthbearer") {
    const current = () => (connection.sasl?.mechanism === "oauthbearer" ? connection.sasl : sasl);
    const source = tokenSource(
      {
        get tokenUrl() {
          return current().tokenUrl;
        },
        get clientId() {
          return current().clientId;
        },
        get clientSecret() {
          return current().clientSecret;
        },
        get scope() {
          return current().scope;
        },
      },
      clock,
    );
    return { mechanism: sasl.mechanism, token: () => source.token() };
  }
  if (sasl.mechanism === "aws-msk-iam") {
    const { region } = sasl;
    const credentials = awsCredentials(region, process.env, clock);
    // MSK accepts such tokens as OAuth tokens.
    const token = async () => mskToken(region, await credentials(), clock.nowMs());
    return { mechanism: "oauthbearer", token };
  }
  const current = () => {
    const now = connection.sasl;
    return now !== null && "password" in now ? now : sasl;
  };
  const { mechanism } = sasl;
  return { mechanism, username: () => current().username, password: () => current().password };
}

/**
 * Counts and logs the pauses that brokers request when a client exceeds a quota, and returns whether a broker is
 * currently throttling. For each broker, `kafka.throttled` is logged at most once a minute, with the sum of the pauses
 * since the last line.
 */
const REPEAT_AFTER_MS = 60_000;
/**
 * How long a throttle time counts as current. Each response to a client that exceeds a quota contains a throttle time.
 */
const RECENT_MS = 5_000;

interface Throttled {
  totalMs: number;
  /** The end of the throttling, by the monotonic clock. */
  untilMs: number;
  loggedAtMs: number;
  loggedTotalMs: number;
}

interface Throttle {
  readonly broker: string;
  /** The request that the broker responded to. */
  readonly request: string;
  readonly throttleMs: number;
}

export class Throttles {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #brokers = new Map<string, Throttled>();
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(log: Log, clock: Pick<Clock, "nowMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  readonly throttled = ({ broker, request, throttleMs }: Throttle): void => {
    const of = this.#of(broker);
    of.totalMs += throttleMs;
    of.untilMs = Math.max(of.untilMs, performance.now() + throttleMs + RECENT_MS);
    this.#untilMs = Math.max(this.#untilMs, of.untilMs);
    const nowMs = this.#clock.nowMs();
    if (nowMs - of.loggedAtMs < REPEAT_AFTER_MS) return;
    const sumMs = of.totalMs - of.loggedTotalMs;
    of.loggedAtMs = nowMs;
    of.loggedTotalMs = of.totalMs;
    this.#log.warn({ broker, request, throttleMs, sumMs }, "kafka.throttled");
  };

  /** `true` if any broker, or the given one, throttles this process. */
  isThrottled(broker?: string): boolean {
    const untilMs = broker === undefined ? this.#untilMs : this.#brokers.get(broker)?.untilMs;
    return untilMs !== undefined && performance.now() < untilMs;
  }

  /** For each broker, the sum of all throttle times in milliseconds. */
  totalsMs(): ReadonlyMap<string, number> {
    return new Map([...this.#brokers].map(([broker, { totalMs }]) => [broker, totalMs]));
  }

  #of(broker: string): Throttled {
    let of = this.#brokers.get(broker);
    if (of === undefined) {
      const [never, none] = [Number.NEGATIVE_INFINITY, 0];
      of = { totalMs: none, untilMs: never, loggedAtMs: never, loggedTotalMs: none };
      this.#brokers.set(broker, of);
    }
    return of;
  }
}
