/**
 * The types of an application's own `fetch`. They are public, so this file has nothing that needs a
 * platform's types: a compiler without them reads it.
 */

/** `AbortSignal` where the platform's types are known: ours must not need them to be installed. */
type Signal = typeof globalThis extends {
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
) => Promise<FetchResponse>;

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /**
   * A stream of the web or of Node, or nothing. It is read for the endpoint's explanation of an error,
   * and so that the connection can be used again.
   */
  readonly body?: unknown;
}
