/**
 * Writes blocks of log lines in order. A log that cannot be written must not stop anything else.
 *
 *   writing a block                             then
 *   writes a part of it                         the rest is written next
 *   finds a full pipe (EAGAIN)                  it is tried again after 10 ms
 *   fails otherwise: disk full, reader gone     all waiting blocks are dropped; a new one is tried when it comes
 *   would let more than 4 MiB wait              the block is dropped
 *   is not done when the process stops          it may take 5 s more
 *
 * Dropped lines are counted. After a line that was cut, the next one starts on a new line.
 */

/** Writes to a file descriptor, like `fs.write` and `fs.writeSync`. */
export interface LogFile {
  write(bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(bytes: Buffer): number;
}

const WAITING_MAX_BYTES = 4 * 1_048_576;
const RETRY_MS = 10;
const END_LIMIT_MS = 5_000;
const LINE_FEED = Buffer.from("\n");

export class LogOutput {
  /** Lines dropped since the process started. */
  dropped = 0;
  /** Why lines were dropped last; null if all later blocks have been written. */
  problem: string | null = null;
  /** Called with the cause and the number of lines dropped since the previous call. */
  onResumed: (problem: string, lines: number) => void = () => undefined;
  #reported = 0;
  readonly #file: LogFile;
  #blocks: Buffer[] = [];
  #state: "idle" | "writing" | "waiting" = "idle";
  #isCut = false;
  #emptied = Promise.withResolvers<void>();
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(file: LogFile) {
    this.#file = file;
  }

  write(block: Buffer): void {
    const waitingBytes = this.#blocks.reduce((sum, { length }) => sum + length, 0);
    if (waitingBytes + block.length > WAITING_MAX_BYTES) {
      this.#drop([block], "it is not read fast enough");
      return;
    }
    this.#blocks.push(block);
    if (this.#state === "idle") this.#writeNext();
  }

  /** Call it when the process stops. */
  async flush(): Promise<void> {
    this.#untilMs = performance.now() + END_LIMIT_MS;
    if (this.#state === "idle") return;
    const late = setTimeout(this.#emptied.resolve, END_LIMIT_MS);
    await this.#emptied.promise;
    clearTimeout(late);
  }

  /** Writes the waiting blocks without the event loop. Call it when the process exits. */
  flushSync(): void {
    if (this.#state === "writing") this.#blocks.shift();
    const untilMs = Math.min(this.#untilMs, performance.now() + END_LIMIT_MS);
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      try {
        this.#written(block, this.#file.writeSync(block));
      } catch (error) {
        if (!isFull(error) || performance.now() > untilMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #writeNext(): void {
    const [block] = this.#blocks;
    if (block === undefined) {
      this.#becomeIdle();
      return;
    }
    this.#state = "writing";
    this.#file.write(block, (error, written) => {
      if (isFull(error)) {
        this.#state = "waiting";
        setTimeout(() => this.#writeNext(), RETRY_MS);
      } else if (error === null) {
        this.#written(block, written);
        this.#writeNext();
      } else {
        this.#drop(this.#blocks, error.message);
        this.#blocks = this.#isCut ? [LINE_FEED] : [];
        this.#becomeIdle();
      }
    });
  }

  #becomeIdle(): void {
    this.#state = "idle";
    this.#emptied.resolve();
    this.#emptied = Promise.withResolvers();
  }

  #written(block: Buffer, written: number): void {
    this.#isCut = written < block.length;
    if (this.#isCut) this.#blocks[0] = block.subarray(written);
    else this.#blocks.shift();
    if (this.problem === null || this.#blocks.length > 0) return;
    const { problem, dropped } = this;
    this.problem = null;
    this.onResumed(problem, dropped - this.#reported);
    this.#reported = dropped;
  }

  #drop(blocks: readonly Buffer[], problem: string): void {
    this.problem = problem;
    for (const block of blocks) {
      if (block === LINE_FEED) continue;
      for (const byte of block) if (byte === LINE_FEED[0]) this.dropped += 1;
    }
  }
}

function isFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === "EAGAIN" || code === "EBUSY";
}
