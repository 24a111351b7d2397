/**
 * Checks the peer of a TLS connection. OpenSSL and Node check chain, time and host name. Some certificates that they
 * accept are rejected here.
 *
 *   the endpoint presents                                    connection
 *   a chain to a public root, or to the private CA           established
 *   a chain to any other root, a wrong host or time          rejected by OpenSSL or Node
 *   a self-signed certificate that is listed as the CA       rejected here
 *   TLS 1.1 or older                                         rejected by OpenSSL
 */

import { createHash, type X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

export interface TlsFiles {
  /** PEM strings; null if not set. The CA is added to the public roots. */
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** If there is a private CA, a context also contains all public roots, and takes 1.2 MB; see {@link sharedContexts}. */
export function secureContext({ ca, cert, key }: TlsFiles): SecureContext {
  return createSecureContext({
    ...(ca === null ? {} : { ca: [...getCACertificates("default"), ca] }),
    ...(cert === null || key === null ? {} : { cert, key }),
    minVersion: "TLSv1.2",
  });
}

/**
 * Returns the same function for the same files. It creates one context, at the first call. When the last user of the
 * function is dropped, so is the context, because files change while the program runs.
 */
export function sharedContexts(): (files: TlsFiles) => () => SecureContext {
  const made = new Map<string, WeakRef<() => SecureContext>>();
  return (files) => {
    const id = createHash("sha256").update(JSON.stringify(files)).digest("base64");
    const known = made.get(id)?.deref();
    if (known !== undefined) return known;
    for (const [key, reference] of made) if (reference.deref() === undefined) made.delete(key);
    let own: SecureContext | null = null;
    const context = () => {
      own ??= secureContext(files);
      return own;
    };
    made.set(id, new WeakRef(context));
    return context;
  };
}

export class SelfSignedError extends Error {
  override readonly name = "SelfSignedError";
  readonly code = "DEPTH_ZERO_SELF_SIGNED_CERT";
}

/** @param certificate the endpoint's certificate, which OpenSSL has already accepted. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}
