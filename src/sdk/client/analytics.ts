/**
 * The client library: each method validates its call, adds it to the queue and returns. Requests are made in the
 * background. `validate.ts`, `encode.ts`, `queue.ts` and `retry.ts` make the decisions, which this file carries out.
 */

import process from "node:process";
import { clearTimeout, setTimeout } from "node:timers";
import type {
  AliasCall,
  CallType,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from "./call-input.ts";
import { ClosedError, type Loss, LostCallError, ValidationError } from "./client-error.ts";
import { type EncodedCall, encode } from "./encode.ts";
import { createPost } from "./http.ts";
import { createJournal, type Journal } from "./journal.ts";
import { type AnalyticsOptions, readOptions } from "./options.ts";
import { Sender, type Timer } from "./sender.ts";
import { validate } from "./validate.ts";

/**
 * Queues calls and sends them in batches to the ingest endpoint. A process needs only one instance.
 *
 * The six methods throw a `ValidationError` for an invalid call and a `ClosedError` after `close`, but never because of
 * the network. Call `close` before the process ends, or pass the instance to `closeOnExit`, because waiting calls do
 * not keep the process alive.
 *
 * Each of the six methods returns immediately. Awaiting the result is optional. The result resolves when the endpoint
 * has acknowledged the call, and rejects with a `LostCallError` if the call is lost.
 */
export class Analytics {
  readonly #sender: Sender;
  readonly #journal: Journal;
  readonly #isDisabled: boolean;
  readonly #settledUpTo = (number: number) => this.#sender.settled(number);
  #isClosed = false;

  /** @throws ValidationError that names the invalid option. */
  constructor(writeKey: string, options: AnalyticsOptions = {}) {
    const settings = readOptions(writeKey, options, {
      endpoint: environment("SWITCHYARD_ENDPOINT"),
      debug: environment("DEBUG"),
    });
    const journal = createJournal(settings, (line) => process.stderr.write(`${line}\n`));
    this.#journal = journal;
    this.#isDisabled = settings.disable;
    this.#sender = new Sender(settings, {
      nowMs: Date.now,
      random: Math.random,
      schedule,
      post: createPost({ ...settings, timeoutMs: settings.requestTimeoutMs }),
      lost: journal.lost,
      acknowledged: journal.acknowledged,
      log: journal.log,
    });
  }

  /** Records who a user is: once when the account is created, and again when traits change. */
  identify(call: IdentifyCall): Acknowledgement {
    return this.#take("identify", call);
  }

  /** Records what a user did. */
  track(call: TrackCall): Acknowledgement {
    return this.#take("track", call);
  }

  /** Records which page a user viewed. */
  page(call: PageCall): Acknowledgement {
    return this.#take("page", call);
  }

  /** Records which screen of an app a user viewed. */
  screen(call: ScreenCall): Acknowledgement {
    return this.#take("screen", call);
  }

  /** Records which group a user belongs to. */
  group(call: GroupCall): Acknowledgement {
    return this.#take("group", call);
  }

  /** Records that `previousId` and `userId` are the same user. */
  alias(call: AliasCall): Acknowledgement {
    return this.#take("alias", call);
  }

  /** Resolves when all calls that are in the queue now are acknowledged, or lost and reported. Never rejects. */
  flush(): Promise<void> {
    return this.#sender.flush();
  }

  /**
   * Stops accepting calls, and resolves when all calls in the queue are acknowledged, or lost and reported. Never
   * rejects because of the network. May be called again.
   *
   * @param timeoutMs time after which the remaining calls are lost; if absent, only the number of attempts is limited.
   * @throws ValidationError if `timeoutMs` is not a number, or negative.
   */
  async close({ timeoutMs }: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    if (timeoutMs !== undefined && !(timeoutMs >= 0 && timeoutMs < 2 ** 31)) {
      throw new ValidationError("timeoutMs", "timeoutMs must be a number of milliseconds, from 0");
    }
    this.#isClosed = true;
    await this.#sender.close(timeoutMs ?? null);
  }

  #take(type: CallType, call: unknown): Acknowledgement {
    if (this.#isClosed) throw new ClosedError(`${type}: the client is closed`);
    const encoded = encode(validate(type, call, newMessageId));
    const sender = this.#sender;
    if (this.#isDisabled) return new Acknowledgement(encoded, 0, this.#settledUpTo);
    if (!sender.add(encoded)) {
      encoded.loss = QUEUE_FULL;
      this.#journal.lost([encoded], QUEUE_FULL);
      return new Acknowledgement(encoded, 0, this.#settledUpTo);
    }
    // `queued` may run the application's `log`, and that function may make a call.
    const acknowledgement = new Acknowledgement(encoded, sender.added, this.#settledUpTo);
    this.#journal.queued(type, encoded, sender.count);
    return acknowledgement;
  }
}

const QUEUE_FULL: Loss = {
  reason: "queue-full",
  message: "the queue is full: calls arrive faster than they are sent, or the endpoint is down",
  attempts: 0,
  status: null,
  cause: undefined,
};

function newMessageId(): string {
  return crypto.randomUUID();
}

function schedule(delayMs: number, action: () => void): Timer {
  const timer = setTimeout(action, delayMs);
  timer.unref();
  return {
    cancel: () => clearTimeout(timer),
    hold: (isHeld) => {
      if (isHeld) timer.ref();
      else timer.unref();
    },
  };
}

/** Deno asks for permission to read the environment; without that permission, the defaults apply. */
function environment(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}

/**
 * The result of each method. It is a promise that does nothing until it is awaited.
 *
 *   the call                          the awaited result
 *   is acknowledged                   resolves
 *   is lost                           rejects with a LostCallError
 *   waits                             keeps the process alive until it resolves or rejects
 *
 * A result that is not awaited costs only one object, and does not end the process with an unhandled rejection if the
 * call is lost.
 */
export class Acknowledgement implements Promise<undefined> {
  readonly #call: EncodedCall;
  readonly #number: number;
  readonly #settledUpTo: (number: number) => Promise<void>;

  /** @param number the number of the call in the queue; 0 if the call was never in the queue. */
  constructor(call: EncodedCall, number: number, settledUpTo: (number: number) => Promise<void>) {
    this.#call = call;
    this.#number = number;
    this.#settledUpTo = settledUpTo;
  }

  get [Symbol.toStringTag](): string {
    return "Acknowledgement";
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` calls `then`, and no work is done before.
  then<Result = undefined, Caught = never>(
    onAcknowledged?: ((value: undefined) => Result | PromiseLike<Result>) | null,
    onLost?: ((reason: LostCallError) => Caught | PromiseLike<Caught>) | null,
  ): Promise<Result | Caught> {
    return this.#settled().then(onAcknowledged, onLost);
  }

  catch<Caught = never>(
    onLost?: ((reason: LostCallError) => Caught | PromiseLike<Caught>) | null,
  ): Promise<undefined | Caught> {
    return this.#settled().catch(onLost);
  }

  finally(onSettled?: (() => void) | null): Promise<undefined> {
    return this.#settled().finally(onSettled);
  }

  async #settled(): Promise<undefined> {
    await this.#settledUpTo(this.#number);
    const { json, loss } = this.#call;
    if (loss) throw new LostCallError({ ...loss, call: JSON.parse(json) });
    return undefined;
  }
}
