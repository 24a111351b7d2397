/**
 * Authenticates connections with the credentials that are current at the time, and reports how long the broker accepts
 * them. @platformatic/kafka does the exchange of each mechanism; it does not get the lifetime of the session, because its
 * own timer would authenticate again while other requests are sent (`open-connection.ts`).
 */

import {
  type Connection,
  type SASLOptions,
  type saslAuthenticateV2,
  saslOAuthBearer,
  saslPlain,
  saslScramSha,
} from "@platformatic/kafka";

import { TokenError } from "../../base/runtime/oauth-token.ts";
import { saslAuthenticate } from "./requests.ts";

/** Each function is called for each authentication. */
export type Credentials =
  | { readonly mechanism: "oauthbearer"; readonly token: () => Promise<string> }
  | {
      readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
      readonly username: () => string;
      readonly password: () => string;
    };

type Done = (error: Error | null, response?: saslAuthenticateV2.SaslAuthenticateResponse) => void;
type Send = (to: Connection, bytes: Buffer, respond: Done) => void;

/** @param onSession called after each authentication, with the lifetime in milliseconds; 0 if unlimited. */
export function saslOptions(
  credentials: Credentials,
  onSession: (lifetimeMs: number) => void,
): SASLOptions {
  return {
    mechanism: credentials.mechanism.toUpperCase() as SASLOptions["mechanism"],
    authenticate: (_mechanism, connection, chosen, _username, _password, _token, callback) => {
      // As all requests here, this one reads its response within its bounds.
      const send: Send = (to, bytes, respond) =>
        saslAuthenticate(bytes).send(to, chosen.version, respond);
      const api = Object.assign(send, chosen);
      const done: Done = (error, response) => {
        if (response === undefined) return callback(error);
        if (credentials.mechanism === "oauthbearer" && response.authBytes.length > 0) {
          // A broker responds to a token that it rejects with a reason, and expects another request before it fails. The
          // token may just have expired, so another one is tried.
          return callback(new TokenError(`The broker rejected the token: ${response.authBytes}`));
        }
        onSession(Number(response.sessionLifetimeMs));
        callback(error, { ...response, sessionLifetimeMs: 0n });
      };
      if (credentials.mechanism === "oauthbearer") {
        saslOAuthBearer.authenticate(api, connection, credentials.token, {}, done);
        return;
      }
      const { mechanism, username, password } = credentials;
      if (mechanism === "plain") {
        saslPlain.authenticate(api, connection, username, password, done);
        return;
      }
      const algorithm = mechanism === "scram-sha-256" ? "SHA-256" : "SHA-512";
      const { authenticate, defaultCrypto } = saslScramSha;
      authenticate(api, connection, algorithm, username, password, defaultCrypto, done);
    },
  };
}
