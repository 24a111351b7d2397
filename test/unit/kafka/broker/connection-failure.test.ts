// The rows of the table in src/kafka/broker/connection-failure.ts, with errors as @platformatic/kafka throws them.

import { AuthenticationError, NetworkError, ResponseError } from "@platformatic/kafka";
import { expect, test } from "vitest";
import { TokenError } from "../../../../src/base/runtime/oauth-token.ts";
import {
  connectionFailure,
  requestFailure,
} from "../../../../src/kafka/broker/connection-failure.ts";

const SASL_AUTHENTICATE = 36;
const failed = (cause: Error) => new NetworkError("Connection to a:1 failed.", { cause });
const rejected = (code: number, text: string | null) =>
  new ResponseError(SASL_AUTHENTICATE, 2, { "/": [code, text] }, {});
const denied = (cause?: Error) => new AuthenticationError("denied", cause && { cause });

test.each([
  ["the mechanism is not offered", denied(rejected(33, null)), "KafkaError", /mechanism/],
  ["no authentication on this port", denied(rejected(34, null)), "KafkaError", /SASL/],
  [
    "the credentials are rejected",
    denied(rejected(58, "Invalid username")),
    "AuthenticationError",
    "SASL PLAIN authentication failed: Invalid username",
  ],
  ["there is no token", denied(new TokenError("no token from x")), "TokenError", "no token from x"],
  ["the broker's proof is wrong", denied(), "AuthenticationError", /denied/],
  ["it is cut off in between", new Error("Closed connection"), "ConnectionError", /Closed/],
  ["it is refused", new Error("connect ECONNREFUSED"), "ConnectionError", "connect ECONNREFUSED"],
])("%s", (_, cause, name, message) => {
  expect(connectionFailure(failed(cause), "plain")).toMatchObject({
    name,
    message: typeof message === "string" ? message : expect.stringMatching(message),
  });
});

test("a request that is cut off counts as an outage, and one that cannot be read does not", () => {
  expect(requestFailure(failed(new Error("read ECONNRESET")))).toMatchObject({
    name: "ConnectionClosedError",
    message: "Closed connection: read ECONNRESET",
    retriable: true,
  });
  const unreadable = new RangeError("out of range");
  expect(requestFailure(unreadable)).toBe(unreadable);
});
