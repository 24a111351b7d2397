/** `switchyard run --stages ingest` as a separate process, on the real Kafka. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { KEY } from "../worlds/ingest-on-kafka.ts";

const ROOT = join(import.meta.dirname, "../../..");

export interface IngestProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit status, or with null if a signal ended the process. */
  readonly ended: Promise<number | null>;
  /** Resolves when a log line with this `msg` is written. Rejects if the process ends first. */
  logged(msg: string): Promise<Record<string, unknown>>;
}

/** Resolves when the process is ready. The caller kills the process. */
export async function ingestProcess(options: {
  readonly brokers: string;
  readonly prefix: string;
  readonly port: number;
  readonly handover: string;
}): Promise<IngestProcess> {
  const { brokers, prefix, port, handover } = options;
  const directory = mkdtempSync(join(tmpdir(), "switchyard-ingest-"));
  const file = join(directory, "switchyard.yaml");
  writeFileSync(
    file,
    `
kafka: { brokers: "${brokers}", topicPrefix: ${prefix}, partitions: 3, replicationFactor: 1 }
sources: [{ id: web, writeKey: ${KEY} }]
ingest: { host: 127.0.0.1, port: ${port}, handover: ${handover} }
admin: { host: 127.0.0.1, port: 0 }
`,
  );
  const argv = [join(ROOT, "src/main.ts"), "run", "--config", file, "--stages", "ingest"];
  const child = spawn(process.execPath, argv, {
    stdio: ["ignore", "pipe", "inherit"],
    // The environment overrides the file, and names the brokers that tests share.
    env: { ...process.env, SWITCHYARD_KAFKA_BROKERS: brokers },
  });
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (text) => {
    lines.push(JSON.parse(text) as Record<string, unknown>);
    for (const look of [...waiting]) look();
  });
  const ended = once(child, "close").then(([status]) => {
    rmSync(directory, { recursive: true, force: true });
    return status as number | null;
  });
  const logged = (msg: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const look = () => {
        const line = lines.find((one) => one.msg === msg);
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      look();
      ended.then((status) => reject(new Error(`ended with ${status} before ${msg}`)), reject);
    });
  await logged("ready");
  return { pid: child.pid ?? 0, kill: (signal) => child.kill(signal), ended, logged };
}
