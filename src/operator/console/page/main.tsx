/**
 * The entry point of the console. If a token is required, lets the user sign in. Shows the view that the address
 * names.
 */

import { type ComponentChildren, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Overview, Session } from "../view.ts";
import { type ListView, VIEWS } from "./address.ts";
import { Audiences } from "./audiences.tsx";
import { Call } from "./call.tsx";
import { Calls } from "./calls.tsx";
import { Configuration } from "./configuration.tsx";
import { DeadLetters } from "./dead-letters.tsx";
import { Destination } from "./destination.tsx";
import { Destinations } from "./destinations.tsx";
import { durationText, localTime, type StateText, utcTime } from "./format.ts";
import { MayAct } from "./jobs.tsx";
import { OverviewPage } from "./overview.tsx";
import { Empty, Loading, Now, Problem, State, useNow } from "./parts.tsx";
import { type Here, Link, useHere } from "./router.tsx";
import {
  type Connection,
  errorText,
  NO_SERVER,
  readSession,
  signedOut,
  signIn,
  signOut,
  useLatest,
} from "./server.ts";
import "./style.css";

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [error, setError] = useState<string | null>(null);
  const read = () => {
    readSession().then(setSession, (problem: unknown) => setError(errorText(problem)));
  };
  useEffect(() => {
    signedOut.notify = () => setSession((before) => before && { ...before, isKnown: false });
    read();
  }, []);
  if (session === null) {
    return <main>{error === null ? <Loading /> : <Problem text={error} />}</main>;
  }
  if (!session.isKnown) return <SignIn onDone={read} />;
  return (
    <MayAct.Provider value={!session.readOnly}>
      <Known session={session} />
    </MayAct.Provider>
  );
}

/**
 * The form for the token. Users enter the token only once, because the browser then keeps a cookie that scripts
 * cannot read.
 */
function SignIn({ onDone }: { readonly onDone: () => void }) {
  const [error, setError] = useState<string | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    signIn(String(new FormData(form).get("token") ?? "")).then(
      (problem) => {
        setError(problem);
        if (problem === null) onDone();
      },
      () => setError(NO_SERVER),
    );
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <h1>Switchyard</h1>
        <label>
          Token
          <input type="password" name="token" autoComplete="current-password" required />
        </label>
        <button type="submit">Sign in</button>
        <p class="quiet">The value of the setting console.token.</p>
        <Problem text={error} />
      </form>
    </main>
  );
}

/** Makes the key `/` move the focus to the first search field of the view. */
function useSearchKey(): void {
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest(TYPED_IN) !== null;
      const field = document.querySelector<HTMLInputElement>("main .search input");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || !field) return;
      event.preventDefault();
      field.focus();
    };
    document.addEventListener("keydown", focus);
    return () => document.removeEventListener("keydown", focus);
  }, []);
}

const TYPED_IN = "input, select, dialog";

/** Provides the current time, updated every second. */
function useClock(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = window.setInterval(() => setNow(Date.now()), 1_000);
    return () => window.clearInterval(tick);
  }, []);
  return now;
}

function Known({ session }: { readonly session: Session }) {
  const here = useHere();
  useSearchKey();
  const [overview, connection] = useLatest<Overview>("/api/events?of=overview");
  const { view } = here.place;
  useEffect(() => {
    const label =
      "id" in here.place ? here.place.id : VIEWS.find((each) => each.view === view)?.label;
    document.title = `${label ?? "Not found"} · Switchyard`;
  }, [here.path]);
  return (
    <Now.Provider value={useClock()}>
      <a class="skip" href="#view">
        Skip to content
      </a>
      <header class="top flex">
        <b>Switchyard</b>
        <nav aria-label="Views">
          {VIEWS.map((each) => (
            <Link key={each.view} to={each.to} isHere={isIn(view, each.view)}>
              {each.label}
            </Link>
          ))}
        </nav>
        <Live connection={connection} overview={overview} />
      </header>
      <Main connection={connection} overview={overview}>
        <View here={here} overview={overview} />
      </Main>
      <footer class="flex">
        Switchyard {session.version}
        {session.readOnly ? ", read-only" : ""}
        {session.hasToken ? (
          <button type="button" class="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        ) : null}
      </footer>
    </Now.Provider>
  );
}

/** Shows the view, and dims it while its data is too old. */
function Main({
  connection,
  overview,
  children,
}: LiveProps & { readonly children: ComponentChildren }) {
  const isStale = ageOf(overview, useNow()) > STALE_MS || connection === "lost";
  return (
    <main id="view" tabIndex={-1} class={isStale && overview !== null ? "stale" : ""}>
      {children}
    </main>
  );
}

/** How many milliseconds ago the data was read; 0 if there is no data. */
function ageOf(overview: Overview | null, now: number): number {
  return overview === null ? 0 : now - Date.parse(overview.at);
}

function isIn(view: string, listed: ListView): boolean {
  if (view === "destination") return listed === "destinations";
  return view === listed || (view === "call" && listed === "calls");
}

function View({
  here: { place },
  overview,
}: {
  readonly here: Here;
  readonly overview: Overview | null;
}) {
  switch (place.view) {
    case "overview":
      return overview === null ? <Loading /> : <OverviewPage overview={overview} />;
    case "destinations":
      return <Destinations />;
    case "destination":
      return <Destination id={place.id} />;
    case "calls":
      return <Calls />;
    case "call":
      return <Call id={place.id} />;
    case "dead-letters":
      return <DeadLetters overview={overview} />;
    case "audiences":
      return <Audiences />;
    case "configuration":
      return <Configuration overview={overview} />;
    case "unknown":
      return (
        <Empty>
          This page does not exist. The navigation above has all views, or go to the{" "}
          <Link to="/">overview</Link>.
        </Empty>
      );
  }
}

interface LiveProps {
  readonly connection: Connection;
  readonly overview: Overview | null;
}

/** Data that is older than this is stale, because the server polls every few seconds. */
const STALE_MS = 20_000;

function connectionState({ connection, overview }: LiveProps, now: number): StateText {
  if (overview === null) {
    return connection === "lost"
      ? { tone: "bad", text: "No connection" }
      : { tone: "quiet", text: "Connecting" };
  }
  const ageMs = ageOf(overview, now);
  const age = `, data from ${durationText(ageMs)} ago`;
  if (connection === "lost") return { tone: "bad", text: `No connection${age}` };
  if (overview.kafkaError !== null) return { tone: "bad", text: "Kafka is unreachable" };
  if (ageMs > STALE_MS) return { tone: "warn", text: `Stale${age}` };
  return { tone: "good", text: "Live" };
}

function Live(props: LiveProps) {
  const now = useNow();
  const at = new Date(now).toISOString();
  return (
    <p class="live">
      <State {...connectionState(props, now)} role="status" />
      <time dateTime={at}>
        {localTime(at, now)}
        {isUtc(now) ? " UTC" : <small> ({utcTime(at).slice(11)})</small>}
      </time>
    </p>
  );
}

function isUtc(now: number): boolean {
  return new Date(now).getTimezoneOffset() === 0;
}

// The address of the icon is made absolute, because the browser resolves it again whenever the address of the
// document changes.
for (const link of document.querySelectorAll("link")) link.setAttribute("href", link.href);
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
