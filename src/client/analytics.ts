/**
 * The client library: each method checks its call, queues it and returns; requests are made in the
 * background. Shell: `validate.ts`, `batch.ts`, `queue.ts` and `retry.ts` decide.
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
import { ClosedError, type Loss, ValidationError } from "./client-error.ts";
import { encode } from "./encode.ts";
import { createPost } from "./http.ts";
import { createJournal, type Journal } from "./journal.ts";
import { type AnalyticsOptions, readOptions } from "./options.ts";
import { Sender, type Timer } from "./sender.ts";
import { validate } from "./validate.ts";

/**
 * Queues calls and sends them in batches to the ingest endpoint. One for a process is enough.
 *
 * The six methods throw a `ValidationError` for a call that cannot be taken and a `ClosedError`
 * after `close`. They never throw for what the network does. The application calls `close` before
 * the process ends, or hands the `Analytics` to `closeOnExit`: it does not keep the process alive.
 */
export class Analytics {
  readonly #sender: Sender;
  readonly #journal: Journal;
  readonly #isDisabled: boolean;
  #isClosed = false;

  /** @throws ValidationError naming the option. */
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

  /** Says who a user is: once when the account is made, and again only when traits change. */
  identify(call: IdentifyCall): void {
    this.#take("identify", call);
  }

  /** Says what a user did. */
  track(call: TrackCall): void {
    this.#take("track", call);
  }

  /** Says which page a user saw. */
  page(call: PageCall): void {
    this.#take("page", call);
  }

  /** Says which screen of an app a user saw. */
  screen(call: ScreenCall): void {
    this.#take("screen", call);
  }

  /** Says which group an identified user belongs to. */
  group(call: GroupCall): void {
    this.#take("group", call);
  }

  /** Says that `previousId` and `userId` are the same user. */
  alias(call: AliasCall): void {
    this.#take("alias", call);
  }

  /**
   * Resolves when the calls queued now are acknowledged, or given up and reported. Never rejects.
   */
  flush(): Promise<void> {
    return this.#sender.flush();
  }

  /**
   * Refuses calls from now on, and resolves when the queued ones are acknowledged, or given up and
   * reported. Never rejects for what the network does; may be called again.
   *
   * @param timeoutMs after which the rest is given up; absent: as long as the attempts take.
   * @throws ValidationError when `timeoutMs` is no number from 0 on.
   */
  async close({ timeoutMs }: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    if (timeoutMs !== undefined && !(timeoutMs >= 0 && timeoutMs < 2 ** 31)) {
      throw new ValidationError("timeoutMs", "timeoutMs must be a number of milliseconds, from 0");
    }
    this.#isClosed = true;
    await this.#sender.close(timeoutMs ?? null);
  }

  #take(type: CallType, call: unknown): void {
    if (this.#isClosed) throw new ClosedError(`${type}: the client is closed`);
    const encoded = encode(validate(type, call, newMessageId));
    if (this.#isDisabled) return;
    if (!this.#sender.add(encoded)) {
      this.#journal.lost([encoded], QUEUE_FULL);
      return;
    }
    this.#journal.queued(type, encoded, this.#sender.count);
  }
}

const QUEUE_FULL: Loss = {
  reason: "queue-full",
  message: "the queue is full: requests are slower than calls, or the endpoint is down",
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

/** Deno asks for a right to read the environment; without it there are the defaults. */
function environment(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}
