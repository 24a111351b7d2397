/** The endpoints of all destinations: records for each call which process sent it, when, and the response. */

import { type Receiver, startReceiver } from "../support/kit/receiver.ts";

export interface Taken {
  readonly id: string;
  readonly user: string;
  readonly status: number;
  /** The process that sent the request, from a header in the process's own configuration. */
  readonly by: string;
  readonly atMs: number;
}

/** Each process adds this header, which is in its configuration. */
export const SENT_BY = "x-sent-by";

export class ControlledReceiver implements AsyncDisposable {
  /** Destinations that get the response 503. */
  readonly refusing = new Set<string>();
  readonly #taken = new Map<string, Taken[]>();
  #receiver: Receiver | null = null;

  async start(): Promise<void> {
    this.#receiver = await startReceiver((request) => {
      const destination = request.path.slice(1);
      const { userId: user } = JSON.parse(request.body) as { readonly userId: string };
      const status = this.refusing.has(destination) ? 503 : 200;
      const { id, atMs } = request;
      const own = this.#taken.get(destination) ?? [];
      this.#taken.set(destination, own);
      own.push({ id, user, status, by: `${request.headers[SENT_BY]}`, atMs });
      return status;
    });
  }

  get port(): number {
    return this.#receiver?.port ?? 0;
  }

  /** Returns all requests of a destination, in order of arrival. */
  all(destination: string): readonly Taken[] {
    return this.#taken.get(destination) ?? [];
  }

  accepted(destination: string): readonly Taken[] {
    return this.all(destination).filter(({ status }) => status === 200);
  }

  refused(destination: string): readonly Taken[] {
    return this.all(destination).filter(({ status }) => status !== 200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver?.[Symbol.asyncDispose]();
  }
}
