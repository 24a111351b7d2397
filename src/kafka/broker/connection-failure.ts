/**
 * Finds out why a connection or a request failed, in the errors of @platformatic/kafka and their causes.
 *
 *   in the chain of causes                          the error here
 *   a SASL mechanism that the broker lacks, no      Kafka's error for that code
 *   authentication on this port
 *   any other error code of the authentication,     AuthenticationError, with the broker's message
 *     such as SASL_AUTHENTICATION_FAILED
 *   no token from its source                        the source's error, which is temporary
 *   a proof of the broker that is wrong (SCRAM)     AuthenticationError
 *   a version that is not in common, or the         the same error
 *     connection was closed from here
 *   anything else: refused, closed, no response     ConnectionError, with the first cause's message
 *
 * A broker that stops or starts cuts off authentications. These count as lost connections and are repeated, whereas
 * rejected credentials end a startup or a stage: they stay rejected until an operator changes them.
 */

import {
  AuthenticationError as DriverAuthenticationError,
  NetworkError,
  TimeoutError,
  UserError,
} from "@platformatic/kafka";

import {
  AuthenticationError,
  ConnectionClosedError,
  ConnectionError,
  createErrorFromCode,
} from "./errors.ts";

interface Parts extends Error {
  readonly apiId?: unknown;
  readonly apiCode?: unknown;
  readonly serverErrorMessage?: unknown;
}

const AS_THEY_ARE: ReadonlySet<unknown> = new Set([
  "UNSUPPORTED_SASL_MECHANISM",
  "ILLEGAL_SASL_STATE",
]);
const OWN: ReadonlySet<string> = new Set([
  "AuthenticationError",
  "ConnectionClosedError",
  "KafkaError",
  "NoCommonVersionError",
  "TokenError",
]);

/** @param mechanism for the message, such as `plain`. */
export function connectionFailure(error: unknown, mechanism: string): Error {
  const chain = chainOf(error);
  const own = chain.find(
    (each) => OWN.has(each.name) && !(each instanceof DriverAuthenticationError),
  );
  if (own !== undefined) return own;
  const coded = chain.find(({ apiId }) => apiId !== undefined);
  if (coded !== undefined && AS_THEY_ARE.has(coded.apiId))
    return createErrorFromCode(Number(coded.apiCode));
  const isProofWrong = chain.at(-1) instanceof DriverAuthenticationError;
  if (coded !== undefined || isProofWrong) {
    const text = coded?.serverErrorMessage ?? (coded ?? chain.at(-1))?.message;
    const named = `SASL ${mechanism.toUpperCase()} authentication failed: ${text}`;
    return new AuthenticationError(named, coded ? `${coded.apiId}` : null, error);
  }
  return new ConnectionError(textOf(chain), { cause: chain.at(-1) });
}

/** @param error null if there is neither an error nor a response. */
export function requestFailure(error: Error | null): Error {
  if (error instanceof NetworkError || error instanceof TimeoutError || error instanceof UserError)
    return new ConnectionClosedError(`Closed connection: ${textOf(chainOf(error))}`, {
      cause: error,
    });
  return error ?? new ConnectionClosedError("Closed connection");
}

function textOf(chain: readonly Parts[]): string {
  return chain.at(-1)?.message ?? "no response";
}

/** The error and its causes, from the outermost. If an error has a list of causes, the first one is followed. */
function chainOf(error: unknown): readonly Parts[] {
  const chain: Parts[] = [];
  let at: unknown = error;
  while (at instanceof Error && chain.length < 10) {
    chain.push(at);
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return chain;
}
