/**
 * Who is on the other end of a TLS connection. OpenSSL checks chain, time and host name; what it
 * would let through, or what happens without its checks, is refused here.
 *
 *   the endpoint shows                                       connection
 *   a chain to a public root, or to the private CA           stands
 *   a chain to any other root, a wrong host, a wrong time    refused by OpenSSL or Node
 *   a self-signed certificate that is listed as the CA       refused here
 *   a resumed session whose certificate has run out since    refused here: nobody looks again
 *   TLS 1.1 or older                                         refused by OpenSSL
 */

import type { X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

export interface TlsFiles {
  /** PEM texts; a CA is added to the public roots. Null: none. */
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Reads well over a hundred roots where there is a private CA: made once, not per connection. */
export function secureContext({ ca, cert, key }: TlsFiles): SecureContext {
  return createSecureContext({
    ...(ca === null ? {} : { ca: [...getCACertificates("default"), ca] }),
    ...(cert === null || key === null ? {} : { cert, key }),
    minVersion: "TLSv1.2",
  });
}

/** @param certificate of the endpoint, which OpenSSL has accepted. */
export function refusedCertificate(
  certificate: X509Certificate | undefined,
  nowMs: number,
): Error | null {
  if (certificate === undefined) {
    return refusal("the endpoint shows no certificate", "CERT_UNTRUSTED");
  }
  if (certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)) {
    return refusal("the endpoint's certificate is self-signed", "DEPTH_ZERO_SELF_SIGNED_CERT");
  }
  if (certificate.validToDate.getTime() < nowMs) {
    return refusal("the endpoint's certificate has expired", "CERT_HAS_EXPIRED");
  }
  return null;
}

function refusal(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
