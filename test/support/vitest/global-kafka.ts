/**
 * Vitest's global setup of the integration tests: one Kafka for all of them, started with the same code as the Kafka of
 * the demo. Workers get its addresses from their environment:
 *
 *   SWITCHYARD_KAFKA_BROKERS   `host:port`, with commas
 *   SWITCHYARD_KAFKA_JARS      directory of Apache Kafka's jars, with Java's console clients; not
 *                              set on a machine without Java
 *   SWITCHYARD_TEST_LAUNCHER   `http://host:port` of a server that starts other services on request:
 *                              `GET /registry` returns the URL of a schema registry
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { findJars } from "../../../tools/kafka/choose.ts";
import { type LocalRegistry, startRegistry } from "../../../tools/kafka/registry.ts";
import { startKafka } from "../../../tools/kafka/start.ts";

export async function setup(): Promise<() => Promise<void>> {
  const log = (line: string) => process.stderr.write(`kafka: ${line}\n`);
  const kafka = await startKafka({ log });
  process.env.SWITCHYARD_KAFKA_BROKERS = kafka.brokers.join(",");
  const jars = await findJars(new AbortController().signal, log);
  if (jars !== null) process.env.SWITCHYARD_KAFKA_JARS = jars;
  const launcher = await startLauncher();
  process.env.SWITCHYARD_TEST_LAUNCHER = launcher.url;
  return async () => {
    await launcher[Symbol.asyncDispose]();
    await kafka.stop();
  };
}

/** The registry is started on request, because it takes 4 s and 190 MB, and most runs do not need it. */
async function startLauncher(): Promise<{ readonly url: string } & AsyncDisposable> {
  const giveUp = new AbortController();
  let registry: Promise<LocalRegistry> | null = null;
  const log = (line: string) => process.stderr.write(`registry: ${line}\n`);
  const server = createServer((request, response) => {
    const end = (status: number, text: string) => response.writeHead(status).end(text);
    if (request.url !== "/registry") return void end(404, "");
    registry ??= startRegistry({ signal: giveUp.signal, log });
    registry.then(
      ({ url }) => end(200, url),
      (error: unknown) => end(500, String(error)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      giveUp.abort();
      server.close();
      const started = await registry?.catch(() => null);
      await started?.[Symbol.asyncDispose]();
    },
  };
}
