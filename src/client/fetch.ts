/** The types of an application's own `fetch`; they stand on no platform's types being installed. */

/** `AbortSignal` where the platform's types are known: ours must not need them to be installed. */
export type Signal = typeof globalThis extends {
  readonly AbortSignal: { readonly prototype: infer Known };
}
  ? Known
  : object;

/** The part of `fetch` that is used. */
export type Fetch = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly redirect: "manual";
    readonly signal: Signal;
  },
) => Promise<FetchAnswer>;

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /**
   * A stream of the web or of Node, or nothing. It is read for the endpoint's words about a refusal,
   * and so that the connection can be used again.
   */
  readonly body?: unknown;
}
