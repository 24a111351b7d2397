/**
 * Creates clients for a `KafkaConnection`, with its addresses, TLS, SASL, sockets and logging.
 *
 * All consumers, and requests that any broker can serve, use the same connections
 * (`kafkajs/shared-connections.ts`). Sockets are tracked here, because kafkajs waits for open requests before
 * it closes a connection, so a broker that hangs would delay a stop.
 */

import net from "node:net";
import tls from "node:tls";
import { withoutBrackets } from "../../domain/addresses.ts";
import { awsCredentials } from "../../runtime/aws-credentials.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { hostAndPort } from "../../runtime/listening.ts";
import { mskToken } from "../../runtime/msk-token.ts";
import { tokenSource } from "../../runtime/oauth-token.ts";
import type { Log } from "../../telemetry/log.ts";
import { addressOf } from "../kafkajs/address.ts";
import {
  brokerFactory,
  CONNECTION_LIMIT_MS,
  type SaslOptions,
  type SocketRequest,
} from "../kafkajs/client.ts";
import type { CreateBroker } from "../kafkajs/internals.ts";
import { reportThrottles, type Throttle } from "../kafkajs/sessions.ts";
import { SharedConnections } from "../kafkajs/shared-connections.ts";
import type { KafkaConnection } from "../port.ts";
import { OutageLog } from "./outage-log.ts";

const KEEP_ALIVE_DELAY_MS = 60_000;

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
  readonly #log: Log;
  readonly #sasl: SaslOptions | undefined;
  /** The client whose connections all members of this process share. */
  #shared: Client | null = null;

  constructor(connection: KafkaConnection, log: Log, clock: Clock = systemClock) {
    this.connection = connection;
    this.#log = log;
    this.clock = clock;
    this.outages = new OutageLog(log, clock);
    this.throttles = new Throttles(log, clock);
    this.#sasl = saslOptions(connection, clock);
  }

  /** Creates a client with its own connections. */
  create(): Client {
    const { createBroker, destroy } = this.#create(new Sockets(this.outages));
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
    return { ...this.#create(new Sockets(this.outages)), shared: this.connections() };
  }

  /** Closes everything that is shared. */
  close(): void {
    this.#shared?.destroy();
  }

  #create(sockets: Sockets): Omit<Client, "shared"> {
    reportThrottles(sockets.create, this.throttles.throttled);
    const createBroker = brokerFactory({
      clientId: this.connection.clientId,
      tls: tlsOptions(this.connection),
      sasl: this.#sasl,
      openSocket: sockets.create,
      isDebug: this.#log.isLevelEnabled("debug"),
      onLog: this.outages.client,
    });
    return { createBroker, destroy: () => sockets.destroy() };
  }
}

/** Read again for each connection, because files and passwords change while the process runs. */
function tlsOptions(connection: KafkaConnection): tls.ConnectionOptions | undefined {
  if (connection.tls === null) return undefined;
  return {
    get ca() {
      const ca = connection.tls?.ca ?? null;
      return ca === null ? undefined : [ca];
    },
    get cert() {
      return connection.tls?.cert ?? undefined;
    },
    get key() {
      return connection.tls?.key ?? undefined;
    },
    get servername() {
      return connection.tls?.serverName ?? undefined;
    },
    // Verification cannot be disabled, not even with NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
  };
}

/** Read again for each authentication. */
function saslOptions(connection: KafkaConnection, clock: Clock): SaslOptions | undefined {
  const { sasl } = connection;
  if (sasl === null) return undefined;
  if (sasl.mechanism === "oauthbearer") {
    const current = () => (connection.sasl?.mechanism === "oauthbearer" ? connection.sasl : sasl);
    const credentials = {
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
    };
    const source = tokenSource(credentials, clock);
    const oauthBearerProvider = async () => ({ value: await source.token() });
    return { mechanism: sasl.mechanism, oauthBearerProvider };
  }
  if (sasl.mechanism === "aws-msk-iam") {
    const { region } = sasl;
    const credentials = awsCredentials(region, process.env, clock);
    // MSK accepts such tokens as OAuth tokens.
    const oauthBearerProvider = async () => {
      return { value: mskToken(region, await credentials(), clock.nowMs()) };
    };
    return { mechanism: "oauthbearer", oauthBearerProvider };
  }
  const current = () => {
    const now = connection.sasl;
    return now !== null && "password" in now ? now : sasl;
  };
  return {
    mechanism: sasl.mechanism,
    get username() {
      return current().username;
    },
    get password() {
      return current().password;
    },
  };
}

class Sockets {
  readonly #outages: OutageLog;
  readonly #open = new Set<net.Socket>();
  #destroyed = false;

  constructor(outages: OutageLog) {
    this.#outages = outages;
  }

  readonly create = ({ host: given, port, ssl, onConnect }: SocketRequest): net.Socket => {
    // Brokers may advertise an IPv6 address in brackets.
    const host = withoutBrackets(given);
    const broker = hostAndPort(host, port);
    let isConnected = false;
    const handleConnect = (): void => {
      isConnected = true;
      clearTimeout(silent);
      this.#outages.recordConnection(broker);
      onConnect();
    };
    // Certificates are checked against this name, which several brokers may share.
    const servername = ssl?.servername ?? (net.isIP(host) === 0 ? host : undefined);
    const socket = ssl
      ? tls.connect({ ...ssl, host, port, ...(servername && { servername }) }, handleConnect)
      : net.connect({ host, port }, handleConnect);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
    this.#open.add(socket);
    const failed = (error: Error): void => {
      if (!isConnected && !this.#destroyed) this.#outages.recordFailure(broker, error);
    };
    const silent = setTimeout(failed, CONNECTION_LIMIT_MS, new Error("no response"));
    socket.on("error", failed);
    socket.on("close", () => {
      clearTimeout(silent);
      this.#open.delete(socket);
    });
    // kafkajs closes a socket once for each request that fails with it, and Node would add a listener for
    // `connect` each time. The socket's `close` event comes too late for this: the socket is destroyed
    // earlier.
    const unref = socket.unref.bind(socket);
    socket.unref = () => (socket.destroyed ? socket : unref());
    // kafkajs attaches its listeners after this function returns, so the error must be emitted later.
    if (this.#destroyed) setImmediate(() => socket.destroy(new Error("the client is closed")));
    return socket;
  };

  destroy(): void {
    this.#destroyed = true;
    for (const socket of this.#open) socket.destroy(new Error("the client is closed"));
  }
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
