/**
 * Waits until a broker responds to a request. If none does, the error explains why.
 *
 *   a try                                             then
 *   gets a response                                   done
 *   fails, and waiting may help                       tries again, until the limit
 *   fails twice in a row, and waiting does not help   throws immediately
 *   the broker closes without an error                one request with the opposite TLS setting: if
 *                                                     that gets a response, the setting is wrong
 *   the broker closes without an error for 3 s,       throws
 *   longer than when it stops or starts
 *   the limit passes                                  throws the last cause
 */

import { setTimeout as sleep } from "node:timers/promises";

import { createLog, type Log } from "../../base/telemetry/log.ts";
import { addressOf } from "../broker/address.ts";
import type { KafkaConnection } from "../port.ts";
import { type ConnectCause, type ConnectStep, causeText, connectCause } from "./connect-cause.ts";
import { type Client, Clients } from "./connection.ts";
import { fetchMetadata } from "./topic-metadata.ts";

const PROBE_DELAY_MS = 500;
const ASK_LIMIT_MS = 3_000;
const CLOSES_FOR_MS = 3_000;
const PUBLIC_TLS = { ca: null, cert: null, key: null, serverName: null };
/** The name of the topic does not matter, because any response is sufficient. */
export const ANY_TOPIC = "__consumer_offsets";

export interface BrokerWait {
  readonly limitMs: number;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called once with each cause, as a sentence. */
  readonly onCause?: (text: string) => void;
}

/** Printed without a stack trace, because the sentence explains the error completely. */
class NoBrokerError extends Error {
  constructor(text: string, cause: unknown) {
    super(text, { cause });
    // With any other name, the stack trace would be printed.
    this.name = "Error";
  }
}

/**
 * Returns false if the signal aborts before a broker responds.
 *
 * @throws Error with the addresses, the cause and the settings to check, if no broker responds within
 *   `limitMs`, or as soon as further waiting cannot help.
 */
export async function waitForBrokers(
  connection: KafkaConnection,
  { limitMs, log, signal, onCause }: BrokerWait,
): Promise<boolean> {
  await using tries = new Tries(connection, log);
  const untilMs = performance.now() + limitMs;
  const reported = new Set<string>();
  /** The last permanent cause, and the time since which it has been the same. */
  let before = { text: "", sinceMs: 0 };
  while (!signal.aborted) {
    const failed = await tries.next(Math.max(untilMs - performance.now(), 1), signal);
    if (failed === null) return true;
    if (signal.aborted) break;
    const lasts = await doesLast(failed.cause, connection);
    const text = causeText(connection.brokers, failed.cause);
    const sinceMs = before.text === text ? before.sinceMs : performance.now();
    const isLong = failed.cause.lasts === true || performance.now() - sinceMs >= CLOSES_FOR_MS;
    if (lasts && before.text === text && isLong) throw new NoBrokerError(text, failed.error);
    before = { text, sinceMs };
    if (performance.now() >= untilMs) throw noBroker(connection, failed, limitMs);
    if (!reported.has(text)) onCause?.(text);
    reported.add(text);
    await sleep(PROBE_DELAY_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

interface Failed {
  readonly error: unknown;
  readonly cause: ConnectCause;
}

/**
 * Failures that are likely to be the same at every address. The next attempt uses the same address, so that two failures
 * in a row are recognized even if another broker is down.
 */
const SAME_EVERYWHERE: ReadonlySet<string> = new Set([
  "AuthenticationError",
  "ConnectionClosedError",
  "NoCommonVersionError",
]);

/** Tries one address per attempt, and the next address after any other failure. */
class Tries {
  readonly #connection: KafkaConnection;
  readonly #client: Client;
  #at = 0;

  constructor(connection: KafkaConnection, log: Log) {
    this.#connection = connection;
    this.#client = new Clients(connection, log).create();
  }

  /**
   * Returns null if a broker has responded. Never throws. Abandons the attempt when the time limit is reached, or the
   * signal aborts.
   */
  async next(limitMs: number, signal: AbortSignal): Promise<Failed | null> {
    const reached: { step: ConnectStep } = { step: "connect" };
    const answered = async (): Promise<null> => {
      const { brokers } = this.#connection;
      const address = addressOf(brokers[this.#at % brokers.length] ?? "");
      const broker = await this.#client.shared.broker(address).open();
      reached.step = "request";
      await fetchMetadata(broker, [ANY_TOPIC]);
      return null;
    };
    const ended = new AbortController();
    const both = AbortSignal.any([signal, ended.signal]);
    const late = sleep(limitMs, undefined, { signal: both })
      .catch(() => undefined)
      .then(() => Promise.reject(new Error("no response")));
    try {
      return await Promise.race([answered(), late]);
    } catch (error) {
      if (reached.step === "request" || !SAME_EVERYWHERE.has((error as Error).name)) this.#at += 1;
      return { error, cause: connectCause(error, reached.step, this.#connection) };
    } finally {
      ended.abort();
      late.catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }
}

/**
 * If a broker closes the connection without an error, makes an attempt with the opposite TLS setting and without
 * authentication.
 */
async function doesLast({ lasts }: ConnectCause, connection: KafkaConnection): Promise<boolean> {
  if (lasts !== "ask") return lasts !== false;
  const tls = connection.tls === null ? PUBLIC_TLS : null;
  const { brokers, clientId, sessionTimeoutMs, recordMaxBytes } = connection;
  const other = { brokers, clientId, sessionTimeoutMs, recordMaxBytes, tls, sasl: null };
  await using tries = new Tries(other, createLog("error", { write: () => undefined }));
  const failed = await tries.next(ASK_LIMIT_MS, new AbortController().signal);
  // If our certificate or the broker's is rejected, that also counts as a response.
  return failed === null || failed.cause.lasts === true;
}

function noBroker({ brokers }: KafkaConnection, { cause, error }: Failed, limitMs: number): Error {
  const text = `No Kafka broker responded within ${limitMs / 1_000} s at ${brokers.join(", ")}`;
  return new NoBrokerError(`${text}: ${cause.says}. Check ${cause.check}.`, error);
}
