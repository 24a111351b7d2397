/**
 * Why no broker can be used, in words, with the settings to look at. Pure.
 *
 *   the connection fails with                     settings                        lasts
 *   a log-in that is refused                      sasl.username, sasl.password    yes
 *   a token that is refused                       sasl                            yes
 *   a mechanism that the broker does not offer    sasl.mechanism                  yes
 *   a log-in where the broker takes none          sasl, brokers                   yes
 *   a certificate of an unknown authority         tls.ca                          yes
 *   a certificate of another name                 tls.serverName, brokers         yes
 *   a certificate out of its time                 -                               yes
 *   an alert about our certificate                tls.cert, tls.key               yes
 *   bytes that are no TLS                         tls, brokers                    yes
 *   a close before TLS, or before any answer      tls, brokers                    if the other way is answered
 *   a close of the first request, without a       sasl                            if it goes on for a while
 *     log-in
 *   no version of a request that both know        the versions of both            yes
 *   no token from its endpoint                    sasl                            no
 *   a name without an address                     brokers                         no
 *   anything else: refused, silent                brokers                         no
 *
 * Time mends nothing that lasts. A broker that is starting or stopping closes connections, too.
 */

import { DRIVER_AUTHENTICATION_FAILED } from "../kafkajs/error-names.ts";
import type { KafkaConnection } from "../port.ts";

export interface ConnectCause {
  /** A sentence without its end. */
  readonly says: string;
  /** Settings to look at, to be read after `Check`. */
  readonly check: string;
  /**
   * `ask`: it does where a broker answers with TLS switched on or off. `while`: it does where it goes
   * on for a while.
   */
  readonly lasts: boolean | "ask" | "while";
}

/** How far a connection came. */
export type Step = "connect" | "request";

const UNTRUSTED = new Set([
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const OUT_OF_TIME = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
/** OpenSSL's names of alerts about the certificate of the client. */
const OUR_CERTIFICATE =
  /alert (?:bad certificate|certificate|unknown ca|handshake failure|access denied)/;
const NO_TLS = /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|BAD_RECORD_TYPE/;
const CLOSED = /closed connection|disconnected before secure|ECONNRESET|EPIPE/i;

/** @param step that failed. */
export function connectCause(
  error: unknown,
  step: Step,
  { tls, sasl }: Pick<KafkaConnection, "tls" | "sasl">,
): ConnectCause {
  const chain = causes(error);
  const codes = chain.map(({ code }) => (typeof code === "string" ? code : ""));
  const has = (name: string) => chain.some((each) => each.name === name || each.type === name);
  const text = sentence(chain);
  const mechanism = sasl?.mechanism ?? "";
  if (has("UNSUPPORTED_SASL_MECHANISM") || /mechanism is not supported/.test(text)) {
    const says = `it does not offer the log-in ${mechanism}`;
    return { says, check: "kafka.sasl.mechanism", lasts: true };
  }
  if (has("ILLEGAL_SASL_STATE") && sasl !== null) {
    const says = "it takes no log-in at this port";
    return { says, check: "kafka.sasl and the port in kafka.brokers", lasts: true };
  }
  if (has(DRIVER_AUTHENTICATION_FAILED)) {
    const isPassword = sasl !== null && "password" in sasl;
    return {
      says: `it refuses the log-in by ${mechanism}: ${text}`,
      check: isPassword ? "kafka.sasl.username and kafka.sasl.password" : "kafka.sasl",
      lasts: true,
    };
  }
  if (has("NoCommonVersionError")) {
    return { says: text, check: "the versions of Kafka and Switchyard", lasts: true };
  }
  if (has("TokenError")) return { says: text, check: "kafka.sasl", lasts: false };
  if (codes.some((code) => UNTRUSTED.has(code))) {
    const says = `its certificate is of an authority that is not trusted (${text})`;
    return { says, check: "kafka.tls.ca", lasts: true };
  }
  if (codes.includes("ERR_TLS_CERT_ALTNAME_INVALID")) {
    const says = `its certificate is for another name (${text})`;
    return { says, check: "kafka.tls.serverName and kafka.brokers", lasts: true };
  }
  if (codes.some((code) => OUT_OF_TIME.has(code))) {
    return {
      says: `its certificate is out of its time (${text})`,
      check: "the brokers' certificate",
      lasts: true,
    };
  }
  if (OUR_CERTIFICATE.test(text)) {
    const says = `it refuses our certificate (${text})`;
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
  says: "it does not speak TLS at this port",
  check: "kafka.tls and the port in kafka.brokers",
  lasts: true,
};
const WITH_TLS: ConnectCause = {
  says: "it closes connections without TLS at this port",
  check: "kafka.tls and the port in kafka.brokers",
  lasts: true,
};
const NO_AUTHENTICATION: ConnectCause = {
  says: "it answers nobody who has not logged in",
  check: "kafka.sasl, which is not set",
  lasts: "while",
};

/** Such as `Kafka at a:9092: it does not speak TLS at this port. Check kafka.tls …` */
export function causeText(brokers: readonly string[], { says, check }: ConnectCause): string {
  return `Kafka at ${brokers.join(", ")}: ${says}. Check ${check}.`;
}

interface Parts {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
}

function causes(error: unknown): readonly Parts[] {
  const chain: Parts[] = [];
  let at = error;
  while (typeof at === "object" && at !== null && chain.length < 10) {
    const parts: Parts = at;
    chain.push(parts);
    at = parts.cause;
  }
  return chain;
}

/** The first message. Of OpenSSL's, which begin with the address of a thread, its reason alone. */
function sentence(chain: readonly Parts[]): string {
  const text = `${chain[0]?.message ?? "no answer"}`.replace(/^Connection error: /, "");
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return (reason ?? text).trim().replace(/\.$/, "");
}
