/**
 * The types of an application's own `fetch`. They are public, so this file does not use a platform's types, and
 * compiles without them.
 */

/** `AbortSignal` if the platform's types are installed. The library's own types must not require them. */
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
   * A stream of the web or of Node, or nothing. The body is read to get the endpoint's explanation of an error, and so
   * that the connection can be used again.
   */
  readonly body?: unknown;
}
