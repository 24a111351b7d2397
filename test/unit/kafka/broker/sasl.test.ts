// The rows of the table in src/kafka/broker/sasl.ts, with a broker that responds to each request of an authentication, and
// why a connection could not be opened.

import { expect, test } from "vitest";
import { TokenError } from "../../../../src/base/runtime/oauth-token.ts";
import { ConnectionClosedError, connectionFailure } from "../../../../src/kafka/broker/errors.ts";
import type { Request } from "../../../../src/kafka/broker/request.ts";
import { authenticate, type Credentials } from "../../../../src/kafka/broker/sasl.ts";

const HANDSHAKE = 17;

interface Responding {
  /** The error code of the handshake. */
  readonly handshake?: number;
  readonly errorCode?: number;
  readonly errorMessage?: string;
  readonly authBytes?: string;
}

/** Sends a request to a broker that responds like this, or cuts off the connection. */
function exchangeWith(broker: Responding | Error) {
  return async <Result>({ kind }: Request<Result>): Promise<Result> => {
    if (broker instanceof Error) throw broker;
    const { handshake = 0, errorCode = 0, errorMessage = null, authBytes = "" } = broker;
    const bytes = Buffer.from(authBytes);
    const authenticated = { errorCode, errorMessage, authBytes: bytes, sessionLifetimeMs: 5_000n };
    return (kind.apiKey === HANDSHAKE ? { errorCode: handshake } : authenticated) as Result;
  };
}

const plain: Credentials = { mechanism: "plain", username: () => "u", password: () => "p" };
const scram: Credentials = { ...plain, mechanism: "scram-sha-256" };
const token = (source: () => Promise<string>): Credentials => ({
  mechanism: "oauthbearer",
  token: source,
});

test.each<[string, Credentials, Responding | Error, string, string | RegExp]>([
  ["the mechanism is not offered", plain, { handshake: 33 }, "KafkaError", /mechanism/],
  ["no authentication on this port", plain, { handshake: 34 }, "KafkaError", /SASL/],
  [
    "the credentials are rejected",
    plain,
    { errorCode: 58, errorMessage: "Invalid username" },
    "AuthenticationError",
    "SASL PLAIN authentication failed: Invalid username",
  ],
  [
    "the credentials are rejected, with SCRAM",
    scram,
    { errorCode: 58, errorMessage: "Invalid username" },
    "AuthenticationError",
    "SASL SCRAM-SHA-256 authentication failed: Invalid username",
  ],
  [
    "there is no token",
    token(() => Promise.reject(new TokenError("no token from x"))),
    {},
    "TokenError",
    "no token from x",
  ],
  [
    "the token is rejected",
    token(async () => "t"),
    { authBytes: '{"status":"invalid_token"}' },
    "TokenError",
    /rejected the token.*invalid_token/,
  ],
  [
    "the broker's proof is wrong",
    scram,
    { authBytes: "r=other,s=AAAA,i=4096" },
    "AuthenticationError",
    /nonce/,
  ],
  [
    "the broker's part of the exchange cannot be read",
    scram,
    { authBytes: "garbage" },
    "AuthenticationError",
    /Malformed/,
  ],
  [
    "it is cut off in between",
    plain,
    new ConnectionClosedError("Closed connection"),
    "ConnectionError",
    /Closed/,
  ],
  [
    "it is cut off in between, with SCRAM",
    scram,
    new ConnectionClosedError("Closed connection"),
    "ConnectionError",
    /Closed/,
  ],
])("%s", async (_, credentials, broker, name, message) => {
  await expect(authenticate(credentials, exchangeWith(broker))).rejects.toMatchObject({
    name,
    message: typeof message === "string" ? message : expect.stringMatching(message),
  });
});

test.each([plain, token(async () => "t")])("the lifetime of a session, with %j", async (given) => {
  expect(await authenticate(given, exchangeWith({}))).toBe(5_000);
});

test("a refused connection is a ConnectionError, with the first address's failure", () => {
  const refused = new Error("connect ECONNREFUSED");
  for (const error of [refused, new AggregateError([refused, new Error("another address")])])
    expect(connectionFailure(error)).toMatchObject({
      name: "ConnectionError",
      message: "connect ECONNREFUSED",
      cause: refused,
    });
});
