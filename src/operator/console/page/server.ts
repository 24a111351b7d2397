/**
 * Sends requests to the server. A stream of events is open only while its view is shown and the tab is visible, so
 * that the server polls Kafka only while a user is watching.
 */

import { useEffect, useState } from "preact/hooks";
import type { Action, JobView } from "../action-view.ts";
import type { QueryName, QueryResults } from "../query-view.ts";
import type { Session } from "../view.ts";
import { below } from "./address.ts";

/** Notifies listeners when a response shows that the session has ended. */
export const signedOut = { notify: nothing };

function nothing(): void {
  // This does nothing until the console has started.
}

export const NO_SERVER = "The server of this console is unreachable.";

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export async function readSession(): Promise<Session> {
  return (await get("/api/session")) as Session;
}

/** Resolves with null if the token is correct, and otherwise with the reason why signing in failed. */
export async function signIn(token: string): Promise<string | null> {
  const response = await fetch(below("/api/session"), {
    method: "POST",
    headers: OWN,
    body: token,
  });
  if (response.ok) return null;
  return await problemOf(response);
}

export async function signOut(): Promise<void> {
  await fetch(below("/api/session"), { method: "DELETE", headers: OWN });
  signedOut.notify();
}

/** A page from another origin cannot add this header. */
const OWN = { "x-switchyard-console": "1" };

/** @throws Error with a sentence. */
async function get(path: string): Promise<unknown> {
  return await fetchJson(path, { headers: { accept: "application/json" } });
}

/**
 * Sends text in the body of a request, because the text must not appear in an address.
 *
 * @throws Error with a sentence.
 */
export async function postText(path: string, body: string): Promise<unknown> {
  return await fetchJson(path, { method: "POST", headers: OWN, body });
}

/** Starts an action. @throws Error whose message is a sentence for the user. */
export async function sendAction(action: Action<string | number>): Promise<JobView> {
  const headers = { ...OWN, "content-type": "application/json" };
  const body = JSON.stringify(action);
  return (await fetchJson("/api/actions", { method: "POST", headers, body })) as JobView;
}

/** Stops an action. If the action has already ended, this has no effect, and an event has reported its end. */
export async function stopAction(id: string): Promise<void> {
  await fetch(below(`/api/actions/${id}`), { method: "DELETE", headers: OWN }).catch(
    () => undefined,
  );
}

/** Called with the actions of all users whenever one of these actions changes. */
export const jobsReceived: { take: (jobs: readonly JobView[]) => void } = { take: nothing };

async function fetchJson(path: string, request: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(below(path), request);
  } catch {
    throw new Error(NO_SERVER);
  }
  if (response.status === 401) signedOut.notify();
  if (!response.ok) throw new Error(await problemOf(response));
  return await response.json();
}

async function problemOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // A response that is not JSON may come from a proxy.
  }
  return `The server responded ${response.status}.`;
}

export type Connection = "live" | "connecting" | "lost";

/**
 * Passes each event of a view to `take`.
 *
 * @param path the path of the stream. If it changes, another stream is opened.
 */
export function useEvents<Event>(path: string, take: (event: Event) => void): Connection {
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    let source: EventSource | null = null;
    const open = () => {
      source = new EventSource(below(path));
      source.onmessage = ({ data }: MessageEvent<string>) => {
        setConnection("live");
        take(JSON.parse(data) as Event);
      };
      source.addEventListener("jobs", ({ data }: MessageEvent<string>) => {
        jobsReceived.take(JSON.parse(data) as readonly JobView[]);
      });
      source.onerror = () => {
        setConnection("lost");
        // If the server rejects the stream, it stays closed. The session may have ended.
        if (source?.readyState === EventSource.CLOSED) {
          void readSession().then(
            ({ isKnown }) => {
              if (!isKnown) signedOut.notify();
            },
            () => undefined,
          );
          reload = window.setTimeout(reopen, 3_000);
        }
      };
    };
    let reload = 0;
    const close = () => {
      window.clearTimeout(reload);
      source?.close();
      source = null;
    };
    const reopen = () => {
      close();
      if (!document.hidden) open();
    };
    reopen();
    document.addEventListener("visibilitychange", reopen);
    return () => {
      document.removeEventListener("visibilitychange", reopen);
      close();
    };
  }, [path]);
  return connection;
}

/** The latest event of a view. */
export function useLatest<Event>(path: string): readonly [Event | null, Connection] {
  const [latest, setLatest] = useState<{ readonly path: string; readonly event: Event } | null>(
    null,
  );
  const connection = useEvents<Event>(path, (event) => setLatest({ path, event }));
  // An event from the previous path is never shown for the new path.
  return [latest?.path === path ? latest.event : null, connection];
}

export interface QueryState<Data> {
  readonly data: Data | null;
  readonly error: string | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Sends a query when the component is first shown, when its parameters change, and when `reload` is called.
 *
 * @param everyMs the interval at which the query is repeated while the tab is visible; if absent, it is not
 *   repeated.
 */
export function useQuery<Name extends QueryName>(
  name: Name,
  parameters: URLSearchParams | Readonly<Record<string, string>> = {},
  everyMs?: number,
): QueryState<QueryResults[Name]> {
  const path = `/api/${name}?${new URLSearchParams(parameters)}`;
  const [state, setState] = useState<Omit<QueryState<QueryResults[Name]>, "reload">>({
    data: null,
    error: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isOver = false;
    setState((before) => ({ ...before, isLoading: true }));
    get(path).then(
      (data) => {
        if (!isOver) setState({ data: data as QueryResults[Name], error: null, isLoading: false });
      },
      (error: unknown) => {
        if (!isOver)
          setState((before) => ({ ...before, error: errorText(error), isLoading: false }));
      },
    );
    return () => {
      isOver = true;
    };
  }, [path, turn]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = window.setInterval(() => {
      if (!document.hidden) setTurn((before) => before + 1);
    }, everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
