/** The demonstration: starts everything, publishes the sample calls, and shows what happens to them. */

import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Kafka as Application, logLevel, Partitioners, type Producer } from "kafkajs";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { STAGE_NAMES } from "../../src/domain/stages.ts";
import { topicNames } from "../../src/domain/topics.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { freePort } from "../kafka/free-port.ts";
import type { LocalKafka } from "../kafka/start.ts";
import { closing, next } from "./closing.ts";
import { demoConfig, FLAKY, HEALTHY, SOURCE, WAREHOUSE } from "./config.ts";
import { EXPECTED_CALLS, EXPECTED_DEAD_LETTERS } from "./expected.ts";
import { createJournal, type Journal } from "./journal.ts";
import { type LogLine, startProgram } from "./program.ts";
import { type Received, startReceiver } from "./receiver.ts";
import { say } from "./show.ts";
import { createStory, inTopicText, retryText, type Story } from "./story.ts";
import { publishSyncs } from "./syncs.ts";
import { watchTopics } from "./watch-topics.ts";

const ROOT = join(import.meta.dirname, "../..");
const DIRECTORY = join(ROOT, ".switchyard/demo");
const CONFIG_FILE = join(DIRECTORY, "switchyard.yaml");
const CALLS_FILE = join(ROOT, "examples/calls.jsonl");
/** A call that has not arrived after this time counts as missing. */
const LIMIT_MS = 60_000;
const ADMIN_PORT = 9_464;
const INGEST_PORT = 8_080;
const CONSOLE_PORT = 9_465;

/** Returns the exit status. */
export async function runDemo(
  local: LocalKafka,
  isOnce: boolean,
  signal: AbortSignal,
): Promise<number> {
  const story = createStory();
  story.print(`Kafka     ${local.brokers.join(", ")}`);
  const failures = { [FLAKY.id]: FLAKY.failures };
  const journal = createJournal(EXPECTED_CALLS, EXPECTED_DEAD_LETTERS, failures);
  const complete = Promise.withResolvers<void>();
  const changed = () => {
    if (journal.isComplete()) complete.resolve();
  };
  await using receiver = await startReceiver(
    {
      [HEALTHY.path]: { secret: HEALTHY.secret, failures: 0 },
      [FLAKY.path]: { secret: FLAKY.secret, failures: FLAKY.failures },
    },
    (received) => {
      printReceived(story, journal, received);
      changed();
    },
  );
  story.print(
    `Receivers ${HEALTHY.id} responds 200 and gets batches; ${FLAKY.id} responds 503 twice, then 200`,
  );

  const prefix = `demo-${randomUUID().slice(0, 8)}.`;
  const adminPort = await freePort(ADMIN_PORT);
  const ingestPort = await freePort(INGEST_PORT);
  const consolePort = await freePort(CONSOLE_PORT);
  const ports = { adminPort, ingestPort, consolePort };
  const stateDir = join(DIRECTORY, "state");
  const { url } = receiver;
  const options = { brokers: local.brokers, topicPrefix: prefix, ...ports, url, stateDir };
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o700 });
  writeFileSync(CONFIG_FILE, demoConfig(options));
  const args = ["--stages", STAGE_NAMES.join(",")];
  const program = startProgram(CONFIG_FILE, (line) => printLog(story, journal, line), { args });
  const topics = topicNames(prefix);
  const kafka = demoKafka(local.brokers);
  try {
    await Promise.race([program.ready, aborted(signal)]);
    if (signal.aborted) return 130;
    story.print(`Switchyard runs all stages. Console: http://127.0.0.1:${consolePort}/`);
    await watchTopics(
      kafka,
      `${prefix}demo`,
      {
        warehouse: topics.deliveries(WAREHOUSE.id as DestinationId),
        deadLetters: topics.deadLetters,
      },
      {
        onWarehouse: (messageId) => {
          journal.arrived({ destination: WAREHOUSE.id, messageId, by: "topic", verified: false });
          story.gather("warehouse", (count) => inTopicText(WAREHOUSE.id, count), "good");
          changed();
        },
        onDeadLetter: (reason, error, from) => {
          journal.deadLetter(reason);
          story.print(`dead letter  ${from}: ${reason}: ${error}`, "bad");
          changed();
        },
      },
    ).joined;
    const application = applicationProducer(local.brokers);
    await application.connect();
    await publish(application, topics.calls, story);
    story.print(await publishSyncs(application, topics.audienceSyncs));
    await application.disconnect();
    const ended = program.ended.then((status) => {
      throw new Error(`Switchyard ended with status ${status}.`);
    });
    // `ended` may also reject at the end, when nothing awaits it.
    ended.catch(() => undefined);
    await Promise.race([complete.promise, limit(LIMIT_MS), aborted(signal), ended]);
    story.flush();
    const isFine = closing(journal);
    if (isOnce || signal.aborted) return isFine ? 0 : 1;
    next({ configFile: relative(process.cwd(), CONFIG_FILE), ...ports });
    await Promise.race([aborted(signal), ended]);
    say("\nStopping ...");
    return 0;
  } finally {
    await program.stop();
    // Brokers from the environment keep running, so the topics of the demonstration are removed.
    if (local.how === "environment") await removeTopics(kafka, prefix);
    await kafka.close();
    rmSync(DIRECTORY, { recursive: true, force: true });
  }
}

function demoKafka(brokers: readonly string[]): Kafka {
  const log = createLog("error", process.stderr);
  const recordMaxBytes = () => 1_048_576;
  const connection = { brokers, clientId: "switchyard-demo", tls: null, sasl: null };
  return createKafka({ ...connection, sessionTimeoutMs: 10_000, recordMaxBytes }, log);
}

/** A data platform's applications use another client. It chooses the same partitions as Java's. */
function applicationProducer(brokers: readonly string[]): Producer {
  const client = new Application({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  return client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
}

/** Writes the lines unchanged, like a data platform, including the line that is not a call. */
async function publish(producer: Producer, topic: string, story: Story): Promise<void> {
  const lines = readFileSync(CALLS_FILE, "utf8").trimEnd().split("\n");
  const headers = { "source-id": SOURCE };
  story.print(`${lines.length} lines of ${relative(ROOT, CALLS_FILE)} published to ${topic}`);
  await producer.send({
    topic,
    messages: lines.map((value) => ({ key: "demo", value, headers })),
  });
}

function printReceived(story: Story, journal: Journal, received: Received): void {
  const { path, messageId, type, said, status, verified, together } = received;
  const { id } = path === FLAKY.path ? FLAKY : HEALTHY;
  if (status !== 200) {
    journal.failed(id);
    return;
  }
  journal.arrived({ destination: id, messageId, by: "webhook", verified });
  // The message IDs of an audience's calls are not readable.
  const name = said !== null && /^[\da-f]{8}-/.test(messageId) ? said : messageId;
  const signature = verified ? "signature verified" : "SIGNATURE WRONG";
  const batch = together === 1 ? "" : `, in a batch of ${together}`;
  const response = `200, ${signature}${batch}`;
  story.print(`${id.padEnd(12)} ${type.padEnd(8)} ${name.padEnd(22)} ${response}`, "good");
}

function printLog(story: Story, journal: Journal, line: LogLine): void {
  if (line.msg === "ready.partial") {
    story.print("Some stages have not joined their groups yet; continuing", "bad");
  }
  if (line.msg !== "delivery.attempted" || line.decision !== "retry") return;
  const destination = String(line.destination);
  const attempt = Number(line.attempt);
  const seconds = Number(line.retryInMs) / 1_000;
  journal.retryCount(destination);
  story.gather(
    `${destination} ${attempt}`,
    (count) => retryText({ destination, attempt, seconds }, count),
    "wait",
  );
}

async function removeTopics(kafka: Kafka, prefix: string): Promise<void> {
  const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
  await kafka.admin.deleteTopics(names);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function limit(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
