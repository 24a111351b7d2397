/**
 * Chooses the versions of the requests that kafkajs encodes. Each connection lists the versions that its broker accepts.
 *
 *   a broker                            kafkajs                      here
 *   accepts no version of kafkajs       sends one; the broker        an error with the request, the
 *                                       closes the connection        versions, the broker and the fix
 *   is upgraded at its address          sends the old versions       negotiates with each connection
 *   accepts other versions than         sends what the first broker  negotiates with each broker
 *   another one                         accepts
 *
 * Newer versions are added if they are encoded like kafkajs' newest version. As a result, no request that
 * changes topics is sent in the lowest or second-lowest version that Kafka 4 accepts.
 *
 *   request          kafkajs   and here   which adds
 *   CreateTopics     0 to 3    4          nothing in these bytes
 *   DeleteTopics     0, 1      2, 3       a new error code
 */

import { hostAndPort } from "../../runtime/listening.ts";
import {
  type BrokerVersions,
  commonVersion,
  NoCommonVersionError,
  type RequestKind,
} from "../wire/request-version.ts";
import {
  acceptedBy,
  type Broker,
  type Protocol,
  REQUEST_NAMES,
  type RequestName,
} from "./internals.ts";
import { loadInternal } from "./kafkajs.ts";

/** Kafka's names for the requests that have another name in kafkajs. */
const KAFKAS_NAMES: Readonly<Record<string, string>> = { GroupCoordinator: "FindCoordinator" };
/** Versions that are encoded in the same way as the newest version of kafkajs. */
const MORE: Readonly<Record<string, readonly number[]>> = {
  CreateTopics: [4],
  DeleteTopics: [2, 3],
};
const NO_API_VERSIONS = "API Versions not supported";

/** One of kafkajs' requests, in all its versions. */
interface Definition {
  readonly versions: readonly string[];
  readonly protocol: (choice: { readonly version: number }) => (options: object) => Protocol;
}

const { requests } = loadInternal("src/protocol/requests/index.js") as {
  readonly requests: Readonly<Record<string, Definition>>;
};
const apiKeys = loadInternal("src/protocol/requests/apiKeys.js") as Readonly<
  Record<string, number>
>;

const NAMES = [...REQUEST_NAMES, "ApiVersions", "SaslHandshake", "SaslAuthenticate"] as const;

/** All requests that kafkajs encodes for us, with their versions, by kafkajs' names. */
export const KAFKAJS_REQUESTS = Object.fromEntries(
  NAMES.map((name) => [name, kindOf(name)]),
) as Readonly<Record<(typeof NAMES)[number], RequestKind>>;

declare class OriginalBroker {
  readonly connectionPool: Broker["connectionPool"] & {
    readonly sasl: unknown;
    isConnected(): boolean;
  };
  versions: BrokerVersions | null;
  constructor(options: object);
  isConnected(): boolean;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  apiVersions(): Promise<BrokerVersions>;
}
const Original = loadInternal("src/broker/index.js") as typeof OriginalBroker;

export class NegotiatingBroker extends Original implements Broker {
  override async connect(): Promise<void> {
    if (!this.connectionPool.isConnected()) this.versions = null;
    await super.connect();
  }

  override async apiVersions(): Promise<BrokerVersions> {
    const versions = await super.apiVersions().catch((error: unknown) => {
      throw worded(error, this.#address, KAFKAJS_REQUESTS.ApiVersions);
    });
    // Without this, kafkajs would conclude that the broker is too old to accept this request.
    const kind = KAFKAJS_REQUESTS.SaslAuthenticate;
    const accepted = versions[kind.apiKey];
    if (accepted !== undefined && this.connectionPool.sasl != null)
      commonVersion(kind, accepted, this.#address);
    return versions;
  }

  protocolOf(name: RequestName, options: object): Protocol {
    const kind = KAFKAJS_REQUESTS[name];
    const version = commonVersion(kind, acceptedBy(this)[kind.apiKey], this.#address);
    return protocolOf(name, version)(options);
  }

  get #address(): string {
    return hostAndPort(this.connectionPool.host, this.connectionPool.port);
  }
}

function protocolOf(name: RequestName, version: number): (options: object) => Protocol {
  const { versions, protocol } = definitionOf(name);
  const newest = Math.max(...versions.map(Number));
  if (version <= newest) return protocol({ version });
  return (options) => {
    const { request, response } = protocol({ version: newest })(options);
    return { request: { ...request, apiVersion: version }, response };
  };
}

function kindOf(name: string): RequestKind {
  const apiKey = apiKeys[name];
  if (apiKey === undefined) throw new Error(`kafkajs lacks ${name}`);
  const versions = [...definitionOf(name).versions.map(Number), ...(MORE[name] ?? [])];
  return {
    apiKey,
    apiName: KAFKAS_NAMES[name] ?? name,
    versions: versions.sort((one, other) => one - other),
  };
}

function definitionOf(name: string): Definition {
  const definition = requests[name];
  if (definition === undefined) throw new Error(`kafkajs lacks ${name}`);
  return definition;
}

function worded(error: unknown, broker: string, { versions }: RequestKind): unknown {
  if (!(error instanceof Error) || error.message !== NO_API_VERSIONS) return error;
  const range = `${Math.min(...versions)} to ${Math.max(...versions)}`;
  return new NoCommonVersionError(
    `Broker ${broker} accepts none of the versions ${range} of the request ApiVersions that Switchyard can send. Upgrade Switchyard: the broker's Kafka is too new for it.`,
  );
}
