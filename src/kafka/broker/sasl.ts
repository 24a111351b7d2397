/**
 * Authenticates a connection with the credentials that are current at the time. @platformatic/kafka does the exchange of
 * SCRAM.
 *
 *   the authentication ends with                    the error here
 *   a SASL mechanism that the broker lacks, no      Kafka's error for that code
 *   authentication on this port
 *   any other error code, such as                   AuthenticationError, with the broker's message
 *   SASL_AUTHENTICATION_FAILED
 *   a wrong proof of the broker (SCRAM)             AuthenticationError
 *   a token that the broker rejects                 TokenError, which is temporary
 *   no token from its source                        the source's error
 *   a lost connection                               ConnectionError
 *
 * A broker that stops or starts cuts off authentications. These count as lost connections and are repeated, whereas
 * rejected credentials end a startup or a stage: they stay rejected until an operator changes them.
 */

import {
  type Connection,
  AuthenticationError as PackageError,
  type saslAuthenticateV2,
  saslScramSha,
} from "@platformatic/kafka";

import { TokenError } from "../../base/runtime/oauth-token.ts";
import {
  AuthenticationError,
  ConnectionClosedError,
  ConnectionError,
  createErrorFromCode,
} from "./errors.ts";
import type { Request } from "./request.ts";
import { saslAuthenticate, saslHandshake } from "./requests.ts";

/** Each function is called for each authentication. */
export type Credentials =
  | { readonly mechanism: "oauthbearer"; readonly token: () => Promise<string> }
  | {
      readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
      readonly username: () => string;
      readonly password: () => string;
    };

type Response = saslAuthenticateV2.SaslAuthenticateResponse;
type Send = (bytes: Buffer) => Promise<Response>;
type Done = (error: Error | null, response?: Response) => void;

/** Errors of the handshake that name a setting better than the text of any broker. */
const AS_THEY_ARE: ReadonlySet<string> = new Set([
  "UNSUPPORTED_SASL_MECHANISM",
  "ILLEGAL_SASL_STATE",
]);

/**
 * Returns the lifetime of the session in milliseconds; 0 if it is unlimited.
 * @param exchange sends a request and returns its response.
 */
export async function authenticate(
  credentials: Credentials,
  exchange: <Result>(request: Request<Result>) => Promise<Result>,
): Promise<number> {
  const { mechanism } = credentials;
  const send: Send = async (bytes) => {
    const response = await exchange(saslAuthenticate(bytes));
    const { errorCode, errorMessage } = response;
    if (errorCode !== 0) throw rejection(mechanism, errorCode, errorMessage ?? null);
    return response;
  };
  try {
    const { errorCode } = await exchange(saslHandshake(mechanism.toUpperCase()));
    if (errorCode !== 0) throw rejection(mechanism, errorCode, null);
    const { authBytes, sessionLifetimeMs } = await exchangeWith(credentials, send);
    // A broker responds to a token that it rejects with a reason, and expects another request before it fails. The token may
    // just have expired, so another one is tried.
    if (mechanism === "oauthbearer" && authBytes.length > 0)
      throw new TokenError(`The broker rejected the token: ${authBytes}`);
    return Number(sessionLifetimeMs);
  } catch (error) {
    const cause = withoutPackage(error);
    if (cause instanceof PackageError) throw failure(mechanism, cause.message, null, error);
    if (cause instanceof ConnectionClosedError) throw new ConnectionError(cause.message, { cause });
    throw cause;
  }
}

async function exchangeWith(credentials: Credentials, send: Send): Promise<Response> {
  const { mechanism } = credentials;
  if (mechanism === "oauthbearer")
    return await send(Buffer.from(`n,,\x01auth=Bearer ${await credentials.token()}\x01\x01`));
  const [username, password] = [credentials.username(), credentials.password()];
  if (mechanism === "plain") return await send(Buffer.from(`\0${username}\0${password}`));
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const done: Done = (error, response) => (response ? resolve(response) : reject(error));
  // The package throws in `respond` if it cannot read the broker's part of the exchange.
  const request = (_: unknown, bytes: Buffer, respond: Done) =>
    void send(bytes)
      .then((response) => respond(null, response), respond)
      .catch(reject);
  const algorithm = mechanism === "scram-sha-256" ? "SHA-256" : "SHA-512";
  saslScramSha.authenticate(
    // Only called, and given the connection, which it does not need.
    request as saslAuthenticateV2.SASLAuthenticationAPI,
    null as unknown as Connection,
    algorithm,
    username,
    password,
    saslScramSha.defaultCrypto,
    done,
  );
  return await promise;
}

function rejection(mechanism: string, errorCode: number, message: string | null): Error {
  const error = createErrorFromCode(errorCode);
  if (AS_THEY_ARE.has(error.type)) return error;
  return failure(mechanism, message ?? error.message, error.type, error);
}

function failure(mechanism: string, text: string, type: string | null, cause: unknown): Error {
  const message = `SASL ${mechanism.toUpperCase()} authentication failed: ${text}`;
  return new AuthenticationError(message, type, cause);
}

/** The error without those that @platformatic/kafka puts around it. */
function withoutPackage(error: unknown): unknown {
  let at = error;
  while (at instanceof PackageError && at.cause !== undefined) at = at.cause;
  return at;
}
