// The errors of authentication, depending on what happened on its connection; with kafkajs' own authenticator.

import { expect, test } from "vitest";
import { errorKind } from "../../../../src/kafka/cluster/kafka-error.ts";
import { createErrorFromCode } from "../../../../src/kafka/kafkajs/internals.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";

interface Errors {
  readonly KafkaJSConnectionClosedError: new (message: string) => Error;
  readonly KafkaJSRequestTimeoutError: new (message: string) => Error;
}

const { KafkaJSConnectionClosedError, KafkaJSRequestTimeoutError } = loadInternal(
  "src/errors.js",
) as Errors;
const SaslAuthenticator = loadInternal("src/broker/saslAuthenticator/index.js") as new (
  connection: object,
  logger: object,
  versions: object,
  supportAuthenticationProtocol: boolean,
) => { readonly connection: object; authenticate(): Promise<void> };
const VERSIONS = { 17: { minVersion: 0, maxVersion: 1 }, 36: { minVersion: 0, maxVersion: 1 } };
const LOGGER = { namespace: () => ({ debug: () => undefined, error: () => undefined }) };

/** Authenticates with a successful handshake and a second request that fails with this error. */
async function failedWith(mechanism: string, error: Error): Promise<unknown> {
  let requests = 0;
  const connection = {
    host: "kafka-1",
    port: 9092,
    sasl: { mechanism, username: "alice", password: "x" },
    send: async () => {
      requests += 1;
      if (requests === 1) return { enabledMechanisms: [mechanism.toUpperCase()] };
      throw error;
    },
  };
  const authenticator = new SaslAuthenticator(connection, LOGGER, VERSIONS, true);
  const failure = await authenticator.authenticate().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(requests).toBe(2);
  expect(authenticator.connection).toBe(connection);
  return failure;
}

const closed = new KafkaJSConnectionClosedError("Closed connection");
const silent = new KafkaJSRequestTimeoutError("Request SaslAuthenticate timed out");
const inTheMiddle = createErrorFromCode(34);
const refused = createErrorFromCode(58);

test.each(["plain", "scram-sha-256", "scram-sha-512"])(
  "what cut %s off is reported",
  async (by) => {
    expect(await failedWith(by, closed)).toBe(closed);
    expect(await failedWith(by, silent)).toBe(silent);
    expect(await failedWith(by, inTheMiddle)).toBe(inTheMiddle);
  },
);

test.each(["plain", "scram-sha-256"])("a refused authentication by %s stays one", async (by) => {
  const failure = await failedWith(by, refused);
  expect(failure).toMatchObject({ name: "KafkaJSSASLAuthenticationError" });
  expect(errorKind(failure)).toBe("fatal");
  expect(errorKind(closed)).toBe("outage");
});
