/**
 * The types of a `fetch` function that an application passes. The types are public, so this file compiles without the
 * types of any platform.
 */

/**
 * `AbortSignal` if the types of the platform are installed. The types of the library must not require the types of a
 * platform.
 */
type Signal = typeof globalThis extends {
  readonly AbortSignal: { readonly prototype: infer Known };
}
  ? Known
  : object;

/** The part of the `fetch` function that is used. */
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
   * A web stream, a Node stream, or nothing. The body is read for the endpoint's explanation of an error, and so that
   * the connection can be used again.
   */
  readonly body?: unknown;
}
