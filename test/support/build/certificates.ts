/**
 * Issues X.509 certificates for tests, because Node can read but not write them. They have P-256 keys and the faults
 * that a test needs. The structure is that of RFC 5280, section 4.1, in DER.
 */

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly issuer: Issuer;
}

interface Issuer {
  readonly name: string;
  readonly privateKey: KeyObject;
}

export interface CertificateRequest {
  readonly name: string;
  /** DNS names and IP addresses for which the certificate is valid. */
  readonly hosts?: readonly string[];
  /** If not set, the certificate is self-signed. */
  readonly by?: Certificate;
  readonly isCa?: boolean;
  readonly from?: Date;
  readonly until?: Date;
}

const DAY_MS = 86_400_000;
const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const COMMON_NAME = "550403";
const ALT_NAMES = "551d11";
const BASIC_CONSTRAINTS = "551d13";

export function issue(request: CertificateRequest): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const own = { name: request.name, privateKey };
  const issuer = request.by?.issuer ?? own;
  const {
    from = new Date(Date.now() - DAY_MS),
    until = new Date(Date.now() + DAY_MS),
    hosts = [],
    isCa = false,
  } = request;
  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    nameOf(issuer.name),
    sequence(time(from), time(until)),
    nameOf(request.name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions(hosts, isCa))),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", toSign, issuer.privateKey));
  const base64 = sequence(toSign, algorithm, signature).toString("base64");
  const lines = base64.match(/.{1,64}/g)?.join("\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    issuer: own,
  };
}

function extensions(hosts: readonly string[], isCa: boolean): Buffer[] {
  const names = hosts.map((host) =>
    isIP(host) === 4
      ? der(0x87, Buffer.from(host.split(".").map(Number)))
      : der(0x82, Buffer.from(host)),
  );
  const constraints = isCa ? sequence(der(0x01, Buffer.of(0xff))) : sequence();
  const found = [extension(BASIC_CONSTRAINTS, constraints)];
  if (names.length > 0) found.push(extension(ALT_NAMES, sequence(...names)));
  return found;
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value));
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(commonName)))));
}

function time(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/[-:T]|\..*$/g, "")}Z`;
  // Years before 2050 have two digits.
  return digits < "2050" ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** Encodes tag, length and content. The length has as few bytes as possible. If it has more than one, their number precedes it. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const size = length < 128 ? [length] : long;
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
