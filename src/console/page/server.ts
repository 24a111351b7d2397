/**
 * Asking the server. A stream of events is open while its view is shown and the tab is visible: while
 * nobody looks, the server does not look at Kafka.
 */

import { useEffect, useState } from "preact/hooks";
import type { Action, JobView } from "../action-view.ts";
import type { Session } from "../view.ts";
import { below } from "./below.ts";

/** Called where an answer says that nobody is logged in any more. */
export const loggedOut = { tell: nobody };

function nobody(): void {
  // Until the page has begun.
}

export async function askSession(): Promise<Session> {
  return (await get("/api/session")) as Session;
}

/** Null: it is taken. Else why not. */
export async function signIn(token: string): Promise<string | null> {
  const answer = await fetch(below("/api/session"), { method: "POST", headers: OWN, body: token });
  if (answer.ok) return null;
  return await problemOf(answer);
}

export async function logOut(): Promise<void> {
  await fetch(below("/api/session"), { method: "DELETE", headers: OWN });
  loggedOut.tell();
}

/** No other page can add it. */
const OWN = { "x-switchyard-console": "1" };

/** @throws Error a sentence for people. */
async function get(path: string): Promise<unknown> {
  return await answered(path, { headers: { accept: "application/json" } });
}

/**
 * Asks with something that no address may have.
 *
 * @throws Error a sentence for people.
 */
export async function ask(path: string, body: string): Promise<unknown> {
  return await answered(path, { method: "POST", headers: OWN, body });
}

/** Begins an action. @throws Error a sentence for people. */
export async function sendAction(action: Action<string | number>): Promise<JobView> {
  const headers = { ...OWN, "content-type": "application/json" };
  const body = JSON.stringify(action);
  return (await answered("/api/actions", { method: "POST", headers, body })) as JobView;
}

/** Asks it to stop. One that has ended meanwhile is told by events. */
export async function stopAction(id: string): Promise<void> {
  await fetch(below(`/api/actions/${id}`), { method: "DELETE", headers: OWN }).catch(
    () => undefined,
  );
}

/** Called with the actions of all people, when something of them changes. */
export const jobsTold: { take: (jobs: readonly JobView[]) => void } = { take: nobody };

async function answered(path: string, request: RequestInit): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(below(path), request);
  } catch {
    throw new Error("The server of this page does not answer.");
  }
  if (answer.status === 401) loggedOut.tell();
  if (!answer.ok) throw new Error(await problemOf(answer));
  return await answer.json();
}

async function problemOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // It is no JSON: a proxy may have answered.
  }
  return `The server answered ${answer.status}.`;
}

export type Connection = "live" | "waiting" | "away";

/**
 * The events of a view, each handed to `take`.
 *
 * @param path of the stream; another one begins anew.
 */
export function useEvents<Event>(path: string, take: (event: Event) => void): Connection {
  const [connection, setConnection] = useState<Connection>("waiting");
  useEffect(() => {
    let source: EventSource | null = null;
    const open = () => {
      source = new EventSource(below(path));
      source.onmessage = ({ data }: MessageEvent<string>) => {
        setConnection("live");
        take(JSON.parse(data) as Event);
      };
      source.addEventListener("jobs", ({ data }: MessageEvent<string>) => {
        jobsTold.take(JSON.parse(data) as readonly JobView[]);
      });
      source.onerror = () => {
        setConnection("away");
        // A refusal ends it for good: whether one is logged in is asked beside.
        if (source?.readyState === EventSource.CLOSED) {
          void askSession().then(
            ({ isKnown }) => {
              if (!isKnown) loggedOut.tell();
            },
            () => undefined,
          );
          again = window.setTimeout(reopen, 3_000);
        }
      };
    };
    let again = 0;
    const close = () => {
      window.clearTimeout(again);
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

/** The last event of a view. */
export function useLatest<Event>(path: string): readonly [Event | null, Connection] {
  const [latest, setLatest] = useState<{ readonly path: string; readonly event: Event } | null>(
    null,
  );
  const connection = useEvents<Event>(path, (event) => setLatest({ path, event }));
  // That of another address is not shown for a moment under this one.
  return [latest?.path === path ? latest.event : null, connection];
}

/** The time of now, every second, while somebody looks. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = window.setInterval(() => setNow(Date.now()), 1_000);
    return () => window.clearInterval(tick);
  }, []);
  return now;
}

export interface Asked<Answer> {
  readonly answer: Answer | null;
  readonly error: string | null;
  readonly isAsking: boolean;
  readonly again: () => void;
}

/** Something that is asked for once, and again when its path changes or somebody wants it. */
export function useAnswer<Answer>(path: string): Asked<Answer> {
  const [state, setState] = useState<Omit<Asked<Answer>, "again">>({
    answer: null,
    error: null,
    isAsking: true,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isOver = false;
    setState((before) => ({ ...before, isAsking: true }));
    get(path).then(
      (answer) => {
        if (!isOver) setState({ answer: answer as Answer, error: null, isAsking: false });
      },
      (error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        if (!isOver) setState((before) => ({ ...before, error: text, isAsking: false }));
      },
    );
    return () => {
      isOver = true;
    };
  }, [path, turn]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}
