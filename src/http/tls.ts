/**
 * Checks the other end of a TLS connection. OpenSSL checks chain, time and host name. Some
 * certificates that it lets through are refused here.
 *
 *   the endpoint shows                                       connection
 *   a chain to a public root, or to the private CA           stands
 *   a chain to any other root, a wrong host, a wrong time    refused by OpenSSL or Node
 *   a self-signed certificate that is listed as the CA       refused here
 *   TLS 1.1 or older                                         refused by OpenSSL
 */

import { createHash, type X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

export interface TlsFiles {
  /** PEM texts; a CA is added to the public roots. Null: none. */
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Where there is a private CA it holds all public roots, 1.2 MB: see {@link sharedContexts}. */
export function secureContext({ ca, cert, key }: TlsFiles): SecureContext {
  return createSecureContext({
    ...(ca === null ? {} : { ca: [...getCACertificates("default"), ca] }),
    ...(cert === null || key === null ? {} : { cert, key }),
    minVersion: "TLSv1.2",
  });
}

/**
 * Makes one context for all that name the same files, when it is first asked for. It is forgotten
 * with the last of them: files change while the program runs.
 */
export function sharedContexts(): (files: TlsFiles) => () => SecureContext {
  const made = new Map<string, WeakRef<SecureContext>>();
  return (files) => {
    const id = createHash("sha256").update(JSON.stringify(files)).digest("base64");
    let own: SecureContext | undefined;
    return () => {
      if (own !== undefined) return own;
      for (const [key, reference] of made) if (reference.deref() === undefined) made.delete(key);
      own = made.get(id)?.deref() ?? secureContext(files);
      made.set(id, new WeakRef(own));
      return own;
    };
  };
}

export class SelfSignedError extends Error {
  override readonly name = "SelfSignedError";
  readonly code = "DEPTH_ZERO_SELF_SIGNED_CERT";
}

/** @param certificate of the endpoint, which OpenSSL has accepted. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}
