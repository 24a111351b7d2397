/**
 * Finds out why an authentication failed. kafkajs reports every failure after the handshake as rejected
 * credentials, and keeps only the error's text.
 *
 *   the authentication                      kafkajs               here
 *   is rejected                             rejected credentials  the same
 *   is cut off, or gets no response         rejected credentials  the actual error, which is temporary
 *   starts while another one is in          rejected credentials  the actual error: another connection works
 *   progress on the connection
 *
 * A broker that stops or starts cuts off authentications, so these are retried. Credentials stay rejected until an
 * operator changes them, so rejected credentials end a startup or a stage.
 */

import { DRIVER_OUTAGE } from "./error-names.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

type Send = (request: object) => Promise<unknown>;

interface Connection {
  readonly send: Send;
  readonly sendAuthRequest: Send;
}

interface Authenticator {
  connection: Connection;
  authenticate(): Promise<void>;
}

const OUTAGE: ReadonlySet<string> = new Set(DRIVER_OUTAGE);
const IN_THE_MIDDLE = "ILLEGAL_SASL_STATE";

export const authenticateToBroker: Replacement = {
  name: "authentication",
  module: "src/broker/saslAuthenticator/index.js",
  replace: (load: LoadInternal) => {
    const Original = load("src/broker/saslAuthenticator/index.js") as {
      readonly prototype: Authenticator;
    };
    const { authenticate } = Original.prototype;
    Original.prototype.authenticate = function authenticateWithCause(this: Authenticator) {
      return withCause(this, () => authenticate.call(this));
    };
    return Original;
  },
};

/** Each authenticator is used for only one authentication. */
async function withCause(
  own: Authenticator,
  authenticateToBroker: () => Promise<void>,
): Promise<void> {
  const { connection } = own;
  let passing: unknown = null;
  const noting =
    (send: Send): Send =>
    async (request) => {
      try {
        return await send.call(connection, request);
      } catch (error) {
        if (isPassing(error)) passing = error;
        throw error;
      }
    };
  own.connection = Object.create(connection, {
    send: { value: noting(connection.send) },
    sendAuthRequest: { value: noting(connection.sendAuthRequest) },
  });
  try {
    await authenticateToBroker();
  } catch (error) {
    throw passing ?? error;
  } finally {
    own.connection = connection;
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return OUTAGE.has(error.name) || ("type" in error && error.type === IN_THE_MIDDLE);
}
