/**
 * Negotiates the versions of kafkajs' own requests, and adds some newer versions. kafkajs chooses versions only in
 * `lookup`.
 *
 *   a broker                            kafkajs                      here
 *   accepts no version of kafkajs       sends one; the broker        an error with the request, the
 *                                       closes the connection        versions, the broker and the fix
 *   is upgraded at its address          sends the old versions       negotiates with each connection
 *   accepts other versions than         sends what the first broker  negotiates with each broker
 *   another one                         accepts
 *
 * Newer versions are added if they are encoded like kafkajs' newest version. As a result, no request that
 * changes or describes topics is sent in the lowest or second-lowest version that Kafka 4 accepts.
 *
 *   request          kafkajs   and here   which adds
 *   CreateTopics     0 to 3    4          nothing in these bytes
 *   DeleteTopics     0, 1      2, 3       an error code
 *   DescribeConfigs  0 to 2    3          documentation, which is not requested
 *   ListOffsets      0 to 3    4, 5       the leader epoch
 */

import {
  type BrokerVersions,
  commonVersion,
  NoCommonVersionError,
  type RequestKind,
} from "../wire/request-version.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import { type Definition, moreVersions } from "./more-versions.ts";

const REQUESTS = "src/protocol/requests/index.js";
const API_KEYS = "src/protocol/requests/apiKeys.js";
const BROKER = "src/broker/index.js";
/** Kafka's names for the requests that have another name in kafkajs. */
const KAFKAS_NAMES: Readonly<Record<string, string>> = { GroupCoordinator: "FindCoordinator" };
const NO_API_VERSIONS = "API Versions not supported";

interface RequestsModule {
  readonly requests: Record<string, Definition>;
  lookup: (versions: BrokerVersions) => (apiKey: number, definition: Definition) => unknown;
}

interface Broker {
  readonly brokerAddress: string;
  readonly connectionPool: { readonly sasl: unknown; isConnected(): boolean };
  versions: BrokerVersions | null;
  connect(): Promise<void>;
  apiVersions(): Promise<BrokerVersions>;
}

/** `host:port` of the broker that listed these versions. */
const addressOf = new WeakMap<BrokerVersions, string>();

export const requestVersions: Replacement = {
  name: "request-versions",
  module: REQUESTS,
  replace: (load) => {
    const own = load(REQUESTS) as RequestsModule;
    Object.assign(own.requests, moreVersions(own.requests, load));
    const names = namesByKey(load);
    own.lookup = (versions) => (apiKey, definition) => {
      const kind = kindOf(apiKey, names.get(apiKey) ?? "", definition);
      const broker = addressOf.get(versions) ?? null;
      return definition.protocol({ version: commonVersion(kind, versions[apiKey], broker) });
    };
    return own;
  },
};

export const brokerVersions: Replacement = {
  name: "broker-versions",
  module: BROKER,
  replace: (load) => {
    const Original = load(BROKER) as new (options: object) => Broker;
    const { requests } = load(REQUESTS) as RequestsModule;
    const kind = (name: string) => kindOf(apiKeyOf(load, name), name, requests[name]);
    const saslAuthenticate = kind("SaslAuthenticate");
    return class extends Original {
      override async connect(): Promise<void> {
        if (!this.connectionPool.isConnected()) this.versions = null;
        await super.connect();
      }

      override async apiVersions(): Promise<BrokerVersions> {
        const versions = await super.apiVersions().catch((error: unknown) => {
          throw worded(error, this.brokerAddress, kind("ApiVersions"));
        });
        addressOf.set(versions, this.brokerAddress);
        // Without this, kafkajs would conclude that the broker is too old to accept this request.
        const accepted = versions[saslAuthenticate.apiKey];
        if (accepted !== undefined && this.connectionPool.sasl != null)
          commonVersion(saslAuthenticate, accepted, this.brokerAddress);
        return versions;
      }
    };
  },
};

/** The requests that kafkajs encodes for us, by kafkajs' names. */
const USED = [
  ...["Produce", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch"],
  ...["GroupCoordinator", "JoinGroup", "LeaveGroup", "SyncGroup", "SaslHandshake"],
  ...["ApiVersions", "CreateTopics", "DeleteTopics", "InitProducerId", "DescribeConfigs"],
  ...["SaslAuthenticate", "DeleteGroups"],
];

/** @param load loads internals of the kafkajs in use. */
export function kindsOfKafkajs(load: LoadInternal): readonly RequestKind[] {
  const { requests } = load(REQUESTS) as RequestsModule;
  return USED.map((name) => kindOf(apiKeyOf(load, name), name, requests[name]));
}

function kindOf(apiKey: number, name: string, definition: Definition | undefined): RequestKind {
  const versions = (definition?.versions ?? []).map(Number).sort((one, other) => one - other);
  return { apiKey, apiName: KAFKAS_NAMES[name] ?? name, versions };
}

function apiKeyOf(load: LoadInternal, name: string): number {
  const apiKey = (load(API_KEYS) as Readonly<Record<string, number>>)[name];
  if (apiKey === undefined) throw new Error(`kafkajs lacks ${name}`);
  return apiKey;
}

function namesByKey(load: LoadInternal): ReadonlyMap<number, string> {
  const apiKeys = load(API_KEYS) as Readonly<Record<string, number>>;
  return new Map(Object.entries(apiKeys).map(([name, apiKey]) => [apiKey, name]));
}

function worded(error: unknown, broker: string, { versions }: RequestKind): unknown {
  if (!(error instanceof Error) || error.message !== NO_API_VERSIONS) return error;
  const range = `${Math.min(...versions)} to ${Math.max(...versions)}`;
  return new NoCommonVersionError(
    `Broker ${broker} accepts none of the versions ${range} of the request ApiVersions that Switchyard can send. Upgrade Switchyard: the broker's Kafka is too new for it.`,
  );
}
