/**
 * Maps the code of the error that ended a request to a cause of the missing response. Certificate errors and outages
 * have different causes (docs/retries.md#tls).
 *
 *   code                                             cause
 *   ENOTFOUND, EAI_*, EDNS*                          dns
 *   ECONNREFUSED                                     refused
 *   EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL, ...    unreachable
 *   ADDRESS_BLOCKED                                  address
 *   ECONNRESET, EPIPE, closed without a response     reset
 *   ETIMEDOUT                                        timeout (also the cause after the deadline)
 *   DEPTH_ZERO_SELF_SIGNED_CERT                      tls-self-signed
 *   SELF_SIGNED_CERT_IN_CHAIN, UNABLE_TO_GET_ISSUER* tls-unknown-ca
 *   CERT_HAS_EXPIRED, CERT_NOT_YET_VALID             tls-expired
 *   ERR_TLS_CERT_ALTNAME_INVALID                     tls-wrong-host
 *   unsupported protocol, protocol version alert     tls-protocol: older than TLS 1.2
 *   other certificate and TLS errors                 tls
 *   HPE_*, RESPONSE_TOO_LARGE, wrong content-length  protocol
 *   any other                                        other
 */

import type { Cause } from "../port.ts";

const BY_CODE: Readonly<Record<string, Cause>> = {
  ENOTFOUND: "dns",
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EHOSTDOWN: "unreachable",
  ENETDOWN: "unreachable",
  EADDRNOTAVAIL: "unreachable",
  ADDRESS_BLOCKED: "address",
  ECONNRESET: "reset",
  ECONNABORTED: "reset",
  EPIPE: "reset",
  UND_ERR_SOCKET: "reset",
  ETIMEDOUT: "timeout",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls-self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "tls-unknown-ca",
  UNABLE_TO_GET_ISSUER_CERT: "tls-unknown-ca",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls-unknown-ca",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls-unknown-ca",
  CERT_UNTRUSTED: "tls-unknown-ca",
  CERT_HAS_EXPIRED: "tls-expired",
  CERT_NOT_YET_VALID: "tls-expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls-wrong-host",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "tls-protocol",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "tls-protocol",
  HOSTNAME_MISMATCH: "tls-wrong-host",
  PATH_LENGTH_EXCEEDED: "tls",
  // Node does not have an error code for every error that OpenSSL can report.
  UNSPECIFIED: "tls",
  EPROTO: "tls",
  RESPONSE_TOO_LARGE: "protocol",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "protocol",
};

const BY_PREFIX: readonly (readonly [prefix: string, cause: Cause])[] = [
  ["EAI_", "dns"],
  ["EDNS", "dns"],
  ["ERR_TLS_", "tls"],
  ["ERR_SSL_", "tls"],
  ["ERR_OSSL_", "tls"],
  ["CERT_", "tls"],
  ["CRL_", "tls"],
  ["INVALID_", "tls"],
  ["UNABLE_TO_", "tls"],
  ["ERROR_IN_C", "tls"],
  ["HPE_", "protocol"],
];

/** @param code the error code from Node, OpenSSL or undici; null if there is none. */
export function causeOf(code: string | null): Cause {
  if (code === null) return "other";
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  return BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "other";
}
