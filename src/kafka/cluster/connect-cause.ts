/**
 * Explains why no broker can be used, and which settings to check.
 *
 *   the connection fails with                     settings                        permanent
 *   rejected credentials                          sasl.username, sasl.password    yes
 *   a rejected token                              sasl                            yes
 *   a mechanism that the broker does not offer    sasl.mechanism                  yes
 *   authentication on a port without it           sasl, brokers                   yes
 *   a certificate from an unknown authority       tls.ca                          yes
 *   a certificate for another name                tls.serverName, brokers         yes
 *   a certificate that has expired, or is not     -                               yes
 *     valid yet
 *   an alert about our certificate                tls.cert, tls.key               yes
 *   bytes that are not TLS                        tls, brokers                    yes
 *   a close before TLS, or before any response    tls, brokers                    if the broker responds
 *                                                                                 with TLS on or off
 *   a close on the first request, without         sasl                            if it continues for 3 s
 *     authentication
 *   a request without a common version            the versions of both            yes
 *   no token from its endpoint                    sasl                            no
 *   a name without an address                     brokers                         no
 *   anything else: refused, no response           brokers                         no
 *
 * Waiting does not fix a permanent failure. A broker that is starting or stopping also closes
 * connections.
 */

import type { KafkaConnection } from "../port.ts";

export interface ConnectCause {
  /** The cause as a sentence, without the period. */
  readonly says: string;
  /** The settings to check, as a phrase that follows `Check`. */
  readonly check: string;
  /**
   * `true` if the cause is permanent. `ask`: permanent if a broker responds after TLS has been switched on or off.
   * `while`: permanent if the failure continues for 3 s.
   */
  readonly lasts: boolean | "ask" | "while";
}

export type ConnectStep = "connect" | "request";

const UNTRUSTED = new Set([
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const OUT_OF_TIME = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
/** OpenSSL's names of alerts about the client's certificate. */
const OUR_CERTIFICATE =
  /alert (?:bad certificate|certificate|unknown ca|handshake failure|access denied)/;
const NO_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|BAD_RECORD_TYPE/;
const CLOSED = /closed connection|connection closed|disconnected before secure|ECONNRESET|EPIPE/i;

/** @param step the step that failed. */
export function connectCause(
  error: unknown,
  step: ConnectStep,
  { tls, sasl }: Pick<KafkaConnection, "tls" | "sasl">,
): ConnectCause {
  const chain = causes(error);
  const codes = chain.map(({ code }) => (typeof code === "string" ? code : ""));
  const has = (name: string) => chain.some((each) => each.name === name || each.type === name);
  const text = sentence(chain);
  const mechanism = sasl?.mechanism ?? "";
  if (has("UNSUPPORTED_SASL_MECHANISM") || /mechanism is not supported/.test(text)) {
    const says = `it does not offer the SASL mechanism ${mechanism}`;
    return { says, check: "kafka.sasl.mechanism", lasts: true };
  }
  if (has("ILLEGAL_SASL_STATE") && sasl !== null) {
    const says = "it does not accept authentication on this port";
    return { says, check: "kafka.sasl and the port in kafka.brokers", lasts: true };
  }
  if (has("AuthenticationError")) {
    const isPassword = sasl !== null && "password" in sasl;
    return {
      says: `it rejected the authentication with ${mechanism}: ${text}`,
      check: isPassword ? "kafka.sasl.username and kafka.sasl.password" : "kafka.sasl",
      lasts: true,
    };
  }
  if (has("NoCommonVersionError")) {
    return { says: text, check: "the versions of Kafka and Switchyard", lasts: true };
  }
  if (has("TokenError")) return { says: text, check: "kafka.sasl", lasts: false };
  if (codes.some((code) => UNTRUSTED.has(code))) {
    const says = `its certificate is from an authority that is not trusted (${text})`;
    return { says, check: "kafka.tls.ca", lasts: true };
  }
  if (codes.includes("ERR_TLS_CERT_ALTNAME_INVALID")) {
    const says = `its certificate is for another name (${text})`;
    return { says, check: "kafka.tls.serverName and kafka.brokers", lasts: true };
  }
  if (codes.some((code) => OUT_OF_TIME.has(code))) {
    return {
      says: `its certificate has expired or is not valid yet (${text})`,
      check: "the brokers' certificate",
      lasts: true,
    };
  }
  if (OUR_CERTIFICATE.test(text)) {
    const says = `it rejected our certificate (${text})`;
    return { says, check: "kafka.tls.cert and kafka.tls.key", lasts: true };
  }
  if (codes.some((code) => NO_TLS.test(code))) return WITHOUT_TLS;
  if (CLOSED.test(text) || codes.some((code) => CLOSED.test(code))) {
    if (step === "request" && sasl === null) return NO_AUTHENTICATION;
    return tls === null ? { ...WITH_TLS, lasts: "ask" } : { ...WITHOUT_TLS, lasts: "ask" };
  }
  return { says: text, check: "kafka.brokers and that the brokers run", lasts: false };
}

const WITHOUT_TLS: ConnectCause = {
  says: "it does not use TLS on this port",
  check: "kafka.tls and the port in kafka.brokers",
  lasts: true,
};
const WITH_TLS: ConnectCause = {
  says: "it closes connections without TLS on this port",
  check: "kafka.tls and the port in kafka.brokers",
  lasts: true,
};
const NO_AUTHENTICATION: ConnectCause = {
  says: "it does not respond without authentication",
  check: "kafka.sasl, which is not set",
  lasts: "while",
};

/** Returns a text such as `Kafka at a:9092: it does not use TLS on this port. Check kafka.tls …` */
export function causeText(brokers: readonly string[], { says, check }: ConnectCause): string {
  return `Kafka at ${brokers.join(", ")}: ${says}. Check ${check}.`;
}

interface CauseParts {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

function causes(error: unknown): readonly CauseParts[] {
  const chain: CauseParts[] = [];
  let at = error;
  while (typeof at === "object" && at !== null && chain.length < 10) {
    const parts: CauseParts = at;
    chain.push(parts);
    at = parts.cause;
  }
  return chain;
}

/**
 * The first message in the chain. OpenSSL's messages start with a thread's address, so only the reason at their end is
 * kept.
 */
function sentence(chain: readonly CauseParts[]): string {
  const text = `${chain[0]?.message ?? "no response"}`.replace(/^Connection error: /, "");
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return (reason ?? text).trim().replace(/\.$/, "");
}
