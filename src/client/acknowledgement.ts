/**
 * The result of each method: a promise of what becomes of the call. Its work
 * begins when somebody awaits it.
 *
 *   the call                                  awaited, it
 *   is acknowledged by the endpoint           resolves
 *   is given up                               rejects with a LostCallError
 *   waits                                     keeps the process alive until one of them
 *
 * A call that nobody asks about costs this object. Its loss then rejects nothing, so it cannot end
 * the process as an unhandled rejection.
 */

import { LostCallError } from "./client-error.ts";
import type { EncodedCall } from "./encode.ts";

export class Acknowledgement implements Promise<undefined> {
  readonly #call: EncodedCall;
  readonly #number: number;
  readonly #settledUpTo: (number: number) => Promise<void>;

  /** @param number of the call in the queue; 0 for one that never was in it. */
  constructor(call: EncodedCall, number: number, settledUpTo: (number: number) => Promise<void>) {
    this.#call = call;
    this.#number = number;
    this.#settledUpTo = settledUpTo;
  }

  get [Symbol.toStringTag](): string {
    return "Acknowledgement";
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` asks by it, and only then there is work.
  then<Kept = undefined, Caught = never>(
    onAcknowledged?: ((value: undefined) => Kept | PromiseLike<Kept>) | null,
    onLost?: ((reason: LostCallError) => Caught | PromiseLike<Caught>) | null,
  ): Promise<Kept | Caught> {
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
