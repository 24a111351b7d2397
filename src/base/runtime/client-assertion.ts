/**
 * Creates the signed JWT that a client sends to a token endpoint instead of a secret: `private_key_jwt`, RFC 7523
 * sections 2.2 and 3.
 *
 *   key              signature (RFC 7518 section 3.1)
 *   RSA              RS256
 *   EC, P-256        ES256
 */

import { createPrivateKey, type KeyObject, sign } from "node:crypto";

/** The value of `client_assertion_type`. */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const LIFETIME_S = 60;
const RSA_BITS_MIN = 2_048;

/** Reads a PEM text. Throws an Error that says what is wrong with the key. */
export function assertionKey(pem: string): {
  readonly algorithm: "RS256" | "ES256";
  readonly key: KeyObject;
} {
  const key = createPrivateKey(pem);
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  if (type === "rsa" && (details.modulusLength ?? 0) >= RSA_BITS_MIN) {
    return { algorithm: "RS256", key };
  }
  if (type === "ec" && details.namedCurve === "prime256v1") return { algorithm: "ES256", key };
  throw new Error(`an RSA key of ${RSA_BITS_MIN} bits or more, or an EC key on P-256, is required`);
}

export interface Asserted {
  readonly clientId: string;
  /** The audience of the assertion. */
  readonly tokenUrl: string;
  /** PEM. */
  readonly privateKey: string;
  /** Null if the provider does not need an ID to find the key. */
  readonly keyId: string | null;
}

/**
 * Returns an assertion that is valid for a minute.
 *
 * @param id differs for each assertion, because a provider accepts each ID only once.
 */
export function clientAssertion(
  { clientId, tokenUrl, privateKey, keyId }: Asserted,
  nowMs: number,
  id: string,
): string {
  const { algorithm, key } = assertionKey(privateKey);
  const header = { alg: algorithm, typ: "JWT", ...(keyId === null ? {} : { kid: keyId }) };
  const iat = Math.floor(nowMs / 1_000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: tokenUrl,
    jti: id,
    iat,
    exp: iat + LIFETIME_S,
  };
  const parts = [header, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  // In a JWT, the two numbers of an EC signature are concatenated, not encoded in DER.
  const signature = sign("sha256", Buffer.from(parts.join(".")), {
    key,
    dsaEncoding: "ieee-p1363",
  });
  return [...parts, signature.toString("base64url")].join(".");
}
