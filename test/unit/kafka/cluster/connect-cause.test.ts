// The rows of the table. The errors are those of connections and of Node with a real broker.

import { expect, test } from "vitest";

import { causeText, connectCause } from "../../../../src/kafka/cluster/connect-cause.ts";
import type { KafkaSasl } from "../../../../src/kafka/port.ts";

const TLS = { ca: null, cert: null, key: null, serverName: null };
const SCRAM: KafkaSasl = { mechanism: "scram-sha-512", username: "alice", password: "p" };
const TOKEN: KafkaSasl = {
  ...{ mechanism: "oauthbearer", tokenUrl: "https://login.example.com" },
  ...{ clientId: "c", clientSecret: "s", scope: null },
};

function failure(name: string, message: string, more: object = {}): Error {
  const inner = Object.assign(new Error(message), { name, ...more });
  return new Error(message, { cause: inner });
}
const refused = (message: string) => failure("AuthenticationError", message);
const protocol = (type: string) => failure("KafkaError", "m", { type });
const connection = (code: string, message = "m") =>
  failure("ConnectionError", `Connection error: ${message}`, { code });
const closed = failure("ConnectionClosedError", "Closed connection");
const tooNew = failure(
  "NoCommonVersionError",
  "The broker a:1 accepts version 4 of the request X.",
);
const noToken = failure("TokenError", "No token from https://login.example.com");
const unsupported = "SASL SCRAM-SHA-512 mechanism is not supported by the server";
const alert =
  "40AD4F:error:0A000412:SSL routines:ssl3_read_bytes:ssl/tls alert bad certificate:../rec.c:918:SSL alert number 42\n";
const early = "Client network socket disconnected before secure TLS connection was established";

test.each([
  ["a log-in", refused("Invalid credentials"), TLS, SCRAM, "kafka.sasl.username and", true],
  ["no common version of a request", tooNew, null, null, "versions of Kafka and Switchyard", true],
  ["a token", refused("invalid_token"), TLS, TOKEN, "kafka.sasl", true],
  ["a mechanism", refused(unsupported), TLS, SCRAM, "kafka.sasl.mechanism", true],
  ["its code", protocol("UNSUPPORTED_SASL_MECHANISM"), TLS, SCRAM, "kafka.sasl.mechanism", true],
  ["no log-in", protocol("ILLEGAL_SASL_STATE"), null, SCRAM, "kafka.sasl and the port", true],
  ["no authority", connection("SELF_SIGNED_CERT_IN_CHAIN"), TLS, null, "kafka.tls.ca", true],
  ["no authority", connection("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), TLS, null, "kafka.tls.ca", true],
  ["a name", connection("ERR_TLS_CERT_ALTNAME_INVALID"), TLS, null, "kafka.tls.serverName", true],
  ["an old certificate", connection("CERT_HAS_EXPIRED"), TLS, null, "brokers' certificate", true],
  ["our certificate", connection("ERR_SSL_X", alert), TLS, null, "kafka.tls.cert", true],
  ["no TLS", connection("ERR_SSL_WRONG_VERSION_NUMBER"), TLS, null, "kafka.tls and", true],
  ["a close before TLS", connection("ECONNRESET", early), TLS, null, "kafka.tls and", "ask"],
  ["a close", closed, null, null, "kafka.tls and the port", "ask"],
  ["no token", noToken, TLS, TOKEN, "kafka.sasl", false],
  ["nobody there", connection("ECONNREFUSED"), null, null, "kafka.brokers and", false],
  ["no address", connection("ENOTFOUND"), null, null, "kafka.brokers and", false],
  ["silence", new Error("no response"), null, null, "kafka.brokers and", false],
] as const)("%s", (_name, error, tls, sasl, check, lasts) => {
  const cause = connectCause(error, "connect", { tls, sasl });
  expect(cause.lasts).toBe(lasts);
  expect(cause.check).toContain(check);
});

test("a first request that is closed, without a authentication, lacks one", () => {
  const without = connectCause(closed, "request", { tls: TLS, sasl: null });
  expect(without).toMatchObject({ check: "kafka.sasl, which is not set", lasts: "while" });
  expect(connectCause(closed, "request", { tls: TLS, sasl: SCRAM }).lasts).toBe("ask");
});

test("the sentence has no address of a thread, and no prefix of the driver", () => {
  const ours = connectCause(connection("ERR_SSL_X", alert), "connect", { tls: TLS, sasl: null });
  expect(causeText(["a:1", "b:2"], ours)).toBe(
    "Kafka at a:1, b:2: it rejected our certificate (ssl/tls alert bad certificate). Check kafka.tls.cert and kafka.tls.key.",
  );
  const nobody = connection("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1");
  expect(connectCause(nobody, "connect", { tls: null, sasl: null }).says).toBe(
    "connect ECONNREFUSED 127.0.0.1:1",
  );
});
