/**
 * A broker that requires authentication: TLS and SASL on one port, TLS with a client certificate on another port, and
 * none on a third port.
 */

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createKafka } from "../../../src/kafka/kafka.ts";
import type { KafkaConnection, KafkaSasl } from "../../../src/kafka/port.ts";
import type { chooseJava } from "../../../tools/kafka/choose.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import {
  type JavaBroker,
  killBroker,
  prepareBroker,
  startBroker,
} from "../../../tools/kafka/java.ts";
import { pem, saslSettings, tlsSettings } from "../../../tools/kafka/security.ts";
import { propertiesText } from "../../../tools/kafka/settings.ts";
import { LogLines } from "../log/log-lines.ts";

export const CA = pem("ca.pem");
export const NO_CERTIFICATE = { ca: CA, cert: null, key: null, serverName: null };
export const CERTIFICATE = { ...NO_CERTIFICATE, cert: pem("client.pem"), key: pem("client.key") };

const SECURITY = "org.apache.kafka.common.security";
const never = new AbortController().signal;

export interface SecuredBroker {
  readonly plainPort: number;
  readonly saslPort: number;
  /** Like `saslPort`, but offers only SCRAM. */
  readonly scramPort: number;
  readonly mtlsPort: number;
  readonly stop: () => Promise<void>;
}

export async function startSecuredBroker({
  java,
  jars,
}: Awaited<ReturnType<typeof chooseJava>>): Promise<SecuredBroker> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-kafka-"));
  const broker = await prepareBroker(java, jars, directory, never, true);
  const ports = {
    saslPort: await freePort(),
    scramPort: await freePort(),
    mtlsPort: await freePort(),
  };
  appendFileSync(join(directory, "server.properties"), `\n${secure(broker, ports)}`);
  const running = await startBroker(broker, "guarded", never);
  // The first handshake of a new broker is slow, and may exceed the time limit of a connection.
  const kafka = createKafka(connection(ports.mtlsPort, CERTIFICATE, null), new LogLines().log);
  await kafka.admin.topics();
  await kafka.close();
  const stop = async () => {
    await killBroker(running);
    rmSync(directory, { recursive: true, force: true });
  };
  return { ...ports, plainPort: Number(broker.address.split(":")[1]), stop };
}

/** Additional settings of the local broker. If a setting is set twice, the later one applies. */
function secure(
  broker: JavaBroker,
  { saslPort, scramPort, mtlsPort }: Pick<SecuredBroker, "saslPort" | "scramPort" | "mtlsPort">,
): string {
  const file = join(broker.directory, "server.properties");
  const plain = readFileSync(file, "utf8");
  const listeners = `,SASL://127.0.0.1:${saslPort},SCRAM://127.0.0.1:${scramPort},MTLS://127.0.0.1:${mtlsPort}`;
  const extended = (key: string, more: string) =>
    `${new RegExp(`^${key}=(.*)$`, "m").exec(plain)?.[1]}${more}`;
  return propertiesText({
    listeners: extended("listeners", listeners),
    "advertised.listeners": extended("advertised.listeners", listeners),
    "listener.security.protocol.map": extended(
      "listener.security.protocol.map",
      ",SASL:SASL_SSL,SCRAM:SASL_SSL,MTLS:SSL",
    ),
    ...tlsSettings(),
    ...saslSettings("SCRAM"),
    ...saslSettings("SASL"),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl.oauthbearer.sasl.jaas.config": `${SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="b";`,
    "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.mtls.ssl.client.auth": "required",
  });
}

export function connection(
  port: number,
  tls: KafkaConnection["tls"],
  sasl: KafkaSasl | null,
): KafkaConnection {
  return {
    brokers: [`127.0.0.1:${port}`],
    clientId: "security",
    tls,
    sasl,
    sessionTimeoutMs: 10_000,
    recordMaxBytes: () => 900_000,
  };
}
