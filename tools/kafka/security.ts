/**
 * TLS and authentication of local brokers, with certificates from the checkout. The certificates are for 127.0.0.1 and
 * localhost, and protect nothing.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

type KafkaSettings = Readonly<Record<string, string>>;

export interface ClientSecurity {
  readonly tls: boolean;
  readonly sasl: boolean;
}

export const NO_SECURITY: ClientSecurity = { tls: false, sasl: false };
export function isPlain({ tls, sasl }: ClientSecurity): boolean {
  return !tls && !sasl;
}

/** The user as which clients authenticate. */
export const USER = "alice";
export const PASSWORD = "pass word:1";
/** The path of the CA certificate that clients trust. */
export const CA_FILE = join(import.meta.dirname, "tls", "ca.pem");

const LOGIN_MODULES = "org.apache.kafka.common.security";
const SCRAM = ["SCRAM-SHA-256", "SCRAM-SHA-512"] as const;

export function pem(name: string): string {
  return readFileSync(join(import.meta.dirname, "tls", name), "utf8");
}

export function protocolOf({ tls, sasl }: ClientSecurity): string {
  if (sasl) return tls ? "SASL_SSL" : "SASL_PLAINTEXT";
  return tls ? "SSL" : "PLAINTEXT";
}

/** Returns the settings that a listener with this name needs. */
export function securitySettings(listener: string, { tls, sasl }: ClientSecurity): KafkaSettings {
  return { ...(tls ? tlsSettings() : {}), ...(sasl ? saslSettings(listener) : {}) };
}

/** Returns the settings for the broker's certificate, and for the CA that the broker trusts. */
export function tlsSettings(): KafkaSettings {
  return {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.certificate.chain": pem("broker.pem"),
    "ssl.keystore.key": pem("broker.key"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": pem("ca.pem"),
  };
}

/** Returns the settings for every mechanism with a password. */
export function saslSettings(listener: string): KafkaSettings {
  const jaas = (mechanism: string, login: string) => [
    `listener.name.${listener.toLowerCase()}.${mechanism.toLowerCase()}.sasl.jaas.config`,
    `${LOGIN_MODULES}.${login};`,
  ];
  return {
    "sasl.enabled.mechanisms": ["PLAIN", ...SCRAM].join(),
    ...Object.fromEntries([
      jaas("PLAIN", `plain.PlainLoginModule required user_${USER}="${PASSWORD}"`),
      ...SCRAM.map((mechanism) => jaas(mechanism, "scram.ScramLoginModule required")),
    ]),
  };
}

/** Returns options for the tool that formats the data directory, in which the users for SCRAM are stored. */
export function scramArguments(): string[] {
  return SCRAM.flatMap((mechanism) => [
    "--add-scram",
    `${mechanism}=[name="${USER}",password="${PASSWORD}"]`,
  ]);
}
