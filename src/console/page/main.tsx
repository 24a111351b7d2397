/** The page: people log in where that is asked for, and see the view of the address. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Overview, Session } from "../view.ts";
import type { ListView } from "./address.ts";
import { Audiences } from "./audiences.tsx";
import { fixAddresses } from "./below.ts";
import { Call } from "./call.tsx";
import { Configuration } from "./configuration.tsx";
import { DeadLetters } from "./dead-letters.tsx";
import { Destination } from "./destination.tsx";
import { Destinations } from "./destinations.tsx";
import { localTime, utcTime } from "./format.ts";
import { MayAct } from "./jobs.ts";
import { Flow } from "./overview.tsx";
import { Empty, Problem } from "./parts.tsx";
import { type Here, Link, useHere } from "./router.tsx";
import { askSession, type Connection, loggedOut, logOut, useLatest, useNow } from "./server.ts";
import { SignIn } from "./sign-in.tsx";
import { Calls } from "./user-calls.tsx";
import "./style.css";

const VIEWS: readonly { readonly view: ListView; readonly to: string; readonly label: string }[] = [
  { view: "flow", to: "/", label: "Flow" },
  { view: "destinations", to: "/destinations", label: "Destinations" },
  { view: "calls", to: "/calls", label: "Calls" },
  { view: "dead-letters", to: "/dead-letters", label: "Dead letters" },
  { view: "audiences", to: "/audiences", label: "Audiences" },
  { view: "configuration", to: "/configuration", label: "Configuration" },
];

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [error, setError] = useState<string | null>(null);
  const ask = () => {
    askSession().then(setSession, (problem: unknown) => {
      setError(problem instanceof Error ? problem.message : String(problem));
    });
  };
  useEffect(() => {
    loggedOut.tell = () => setSession((before) => before && { ...before, isKnown: false });
    ask();
  }, []);
  if (session === null) {
    return <main>{error === null ? <Empty>Loading</Empty> : <Problem text={error} />}</main>;
  }
  if (!session.isKnown) return <SignIn onDone={ask} />;
  return (
    <MayAct.Provider value={!session.readOnly}>
      <Known session={session} />
    </MayAct.Provider>
  );
}

function Known({ session }: { readonly session: Session }) {
  const here = useHere();
  const now = useNow();
  const [overview, connection] = useLatest<Overview>("/api/events?of=overview");
  const { view } = here.place;
  useEffect(() => {
    const label =
      "id" in here.place ? here.place.id : VIEWS.find((each) => each.view === view)?.label;
    document.title = `${label ?? "Not found"} · Switchyard`;
  }, [here.path]);
  return (
    <>
      <a class="skip" href="#view">
        To the content
      </a>
      <header class="top">
        <b class="brand">Switchyard</b>
        <nav aria-label="Views">
          {VIEWS.map((each) => (
            <Link key={each.view} to={each.to} isHere={isIn(view, each.view)}>
              {each.label}
            </Link>
          ))}
        </nav>
        <Live connection={connection} overview={overview} now={now} />
      </header>
      <main id="view" tabIndex={-1}>
        <View here={here} overview={overview} now={now} />
      </main>
      <footer>
        Switchyard {session.version}
        {session.readOnly ? ", read-only" : ""}
        {session.hasToken ? (
          <button type="button" class="plain" onClick={() => void logOut()}>
            Log out
          </button>
        ) : null}
      </footer>
    </>
  );
}

function isIn(view: string, listed: ListView): boolean {
  if (view === "destination") return listed === "destinations";
  return view === listed || (view === "call" && listed === "calls");
}

function View({
  here: { place },
  overview,
  now,
}: {
  readonly here: Here;
  readonly overview: Overview | null;
  readonly now: number;
}) {
  switch (place.view) {
    case "flow":
      return overview === null ? <Empty>Loading</Empty> : <Flow overview={overview} now={now} />;
    case "destinations":
      return <Destinations now={now} />;
    case "destination":
      return <Destination id={place.id} now={now} />;
    case "calls":
      return <Calls now={now} />;
    case "call":
      return <Call id={place.id} now={now} />;
    case "dead-letters":
      return <DeadLetters overview={overview} now={now} />;
    case "audiences":
      return <Audiences now={now} />;
    case "configuration":
      return <Configuration overview={overview} now={now} />;
    case "unknown":
      return (
        <Empty>
          There is no such page. <Link to="/">To the flow</Link>
        </Empty>
      );
  }
}

function Live({
  connection,
  overview,
  now,
}: {
  readonly connection: Connection;
  readonly overview: Overview | null;
  readonly now: number;
}) {
  const at = new Date(now).toISOString();
  const isKafkaAway = overview !== null && overview.kafkaError !== null;
  const word =
    connection === "away"
      ? "no connection"
      : isKafkaAway
        ? "Kafka is away"
        : overview === null
          ? "connecting"
          : "live";
  const tone = word === "live" ? "good" : word === "connecting" ? "quiet" : "bad";
  return (
    <p class="live">
      <span class={`state ${tone}`} role="status">
        <span aria-hidden="true">{tone === "good" ? "●" : "▲"}</span> {word}
      </span>
      <time dateTime={at}>
        {localTime(at, now)} <small>{utcTime(at).slice(11)}</small>
      </time>
    </p>
  );
}

fixAddresses();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
