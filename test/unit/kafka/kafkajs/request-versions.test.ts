// kafkajs' own requests in the versions that a broker accepts, and in the versions that kafkajs does not support.

import { expect, test } from "vitest";

import type { RequestName } from "../../../../src/kafka/kafkajs/internals.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import {
  KAFKAJS_REQUESTS,
  NegotiatingBroker,
} from "../../../../src/kafka/kafkajs/request-versions.ts";
import type { BrokerVersions } from "../../../../src/kafka/wire/request-version.ts";

const { KafkaJSProtocolError } = loadInternal("src/errors.js") as {
  readonly KafkaJSProtocolError: new (error: object) => Error;
};

/** How a broker responds to a request of kafkajs. */
type Respond = (request: { readonly apiKey: number; readonly apiVersion: number }) => unknown;

function brokerThat(respond: Respond, sasl: object | null = null) {
  const connection = {
    isUp: false,
    getSupportAuthenticationProtocol: () => true,
    authenticate: async () => undefined,
  };
  const connectionPool = {
    ...{ host: "fd00::1", port: 9092, sasl, connectionTimeout: 1_000 },
    isConnected: () => connection.isUp,
    isAuthenticated: () => true,
    getConnection: async () => {
      connection.isUp = true;
      return connection;
    },
    setVersions: () => undefined,
    send: async ({ request }: { readonly request: Parameters<Respond>[0] }) => respond(request),
  };
  const logger = { namespace: () => ({ debug: () => undefined }) };
  return { broker: new NegotiatingBroker({ connectionPool, logger }), connection };
}

function listing(versions: BrokerVersions): Respond {
  const apiVersions = Object.entries(versions).map(([apiKey, range]) => ({ apiKey, ...range }));
  return () => ({ apiVersions });
}

const keyOf = (name: RequestName) => KAFKAJS_REQUESTS[name].apiKey;

async function sent(name: RequestName, minVersion: number, maxVersion: number) {
  const { broker } = brokerThat(listing({ [keyOf(name)]: { minVersion, maxVersion } }));
  await broker.connect();
  return broker.protocolOf(name, OPTIONS[name] ?? {}) as unknown as {
    readonly request: {
      readonly apiVersion: number;
      readonly encode: () => Promise<{ readonly buffer: Buffer }>;
    };
  };
}

const OPTIONS: Readonly<Partial<Record<RequestName, object>>> = {
  CreateTopics: { topics: [{ topic: "t" }], timeout: 1, validateOnly: false },
  DeleteTopics: { topics: ["t"], timeout: 1 },
  DeleteGroups: ["g"],
  GroupCoordinator: { groupId: "g", coordinatorType: 0 },
};

test.each([
  ["CreateTopics", 0, 3, 3],
  ["CreateTopics", 2, 7, 4],
  ["CreateTopics", 4, 7, 4],
  ["DeleteTopics", 1, 6, 3],
  ["DeleteTopics", 3, 6, 3],
  ["DeleteTopics", 0, 2, 2],
  ["DeleteGroups", 0, 2, 1],
  ["GroupCoordinator", 0, 6, 2],
] as const)(
  "%s, of which the broker accepts %d to %d, is sent as %d",
  async (name, min, max, version) => {
    const { request } = await sent(name, min, max);
    expect(request.apiVersion).toBe(version);
    expect((await request.encode()).buffer.length).toBeGreaterThan(0);
  },
);

test.each([
  ["CreateTopics", 5, 7, "versions 5 to 7 of the request CreateTopics"],
  ["DeleteGroups", 2, 2, "version 2 of the request DeleteGroups"],
  ["GroupCoordinator", 3, 6, "versions 3 to 6 of the request FindCoordinator"],
] as const)(
  "%s, of which the broker accepts %d to %d, is an error",
  async (name, min, max, text) => {
    await expect(sent(name, min, max)).rejects.toThrow(`The broker [fd00::1]:9092 accepts ${text}`);
  },
);

test("a request that the broker does not list is an error, and so is one before the first connection", async () => {
  const { broker } = brokerThat(listing({}));
  expect(() => broker.protocolOf("Metadata", {})).toThrow("Not connected");
  await broker.connect();
  expect(() => broker.protocolOf("Metadata", {})).toThrow(
    "The broker [fd00::1]:9092 does not support the request Metadata",
  );
});

test("the versions are queried again for each connection", async () => {
  const versions = { [keyOf("CreateTopics")]: { minVersion: 0, maxVersion: 2 } };
  let listed = listing(versions);
  const { broker, connection } = brokerThat((request) => listed(request));
  await broker.connect();
  listed = listing({ [keyOf("CreateTopics")]: { minVersion: 4, maxVersion: 7 } });
  await broker.connect();
  expect(broker.versions).toEqual(versions);
  connection.isUp = false;
  await broker.connect();
  expect(broker.protocolOf("CreateTopics", OPTIONS.CreateTopics ?? {}).request.apiVersion).toBe(4);
});

test("a broker that accepts no version of ApiVersions is too new", async () => {
  const error = Object.assign(new Error("unsupported"), { type: "UNSUPPORTED_VERSION" });
  const { broker } = brokerThat(() => {
    throw new KafkaJSProtocolError(error);
  });
  await expect(broker.connect()).rejects.toThrow(
    "Broker [fd00::1]:9092 accepts none of the versions 0 to 2 of the request ApiVersions",
  );
});

test("with authentication, a broker has to accept a version of SaslAuthenticate", async () => {
  const respond = listing({ 36: { minVersion: 2, maxVersion: 2 } });
  await expect(brokerThat(respond, {}).broker.connect()).rejects.toThrow(
    "The broker [fd00::1]:9092 accepts version 2 of the request SaslAuthenticate",
  );
  await brokerThat(respond).broker.connect();
});
