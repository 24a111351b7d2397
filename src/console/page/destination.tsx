/** One destination: how it goes, what its endpoints answered, what waits where. */

import type { Answer, DestinationView, EndpointView } from "../view.ts";
import { DestinationActions } from "./act-destination.tsx";
import { deadLettersLink } from "./address.ts";
import { Attempts } from "./attempts.tsx";
import {
  countText,
  durationText,
  millisecondsText,
  outcomeText,
  percentText,
  stateWords,
} from "./format.ts";
import { Age, Empty, Figure, Panel, Problem, State, Time } from "./parts.tsx";
import { type Line, Plot } from "./plot.tsx";
import { Link } from "./router.tsx";
import { useLatest } from "./server.ts";
import { type Column, Table } from "./table.tsx";

const ANSWER_LINES: readonly Line[] = [
  { name: "2xx", label: "2xx", color: "--good" },
  { name: "3xx", label: "3xx", color: "--violet" },
  { name: "4xx", label: "4xx", color: "--amber" },
  { name: "429", label: "429", color: "--orange" },
  { name: "5xx", label: "5xx", color: "--bad" },
  { name: "timeout", label: "timeout", color: "--soft" },
  { name: "refused", label: "connection refused", color: "--blue" },
  { name: "reset", label: "connection reset", color: "--violet" },
  { name: "dns", label: "name not found", color: "--orange" },
  { name: "unreachable", label: "unreachable", color: "--amber" },
  { name: "address", label: "address not allowed", color: "--bad" },
  { name: "tls", label: "TLS", color: "--blue" },
  { name: "protocol", label: "no HTTP", color: "--soft" },
  { name: "other", label: "no answer", color: "--soft" },
];
const LATENCY_LINES: readonly Line[] = [
  { name: "p50", label: "p50", color: "--blue" },
  { name: "p99", label: "p99", color: "--orange" },
];

interface Missing {
  readonly isMissing: true;
}

export function Destination({ id, now }: { readonly id: string; readonly now: number }) {
  const path = `/api/events?of=destination&id=${encodeURIComponent(id)}`;
  const [view] = useLatest<DestinationView | Missing>(path);
  if (view === null) return <Head id={id} aside={<p role="status">Loading</p>} />;
  if ("isMissing" in view) {
    return (
      <>
        <Head id={id} />
        <Empty>
          No destination has this id. <Link to="/destinations">All destinations</Link>
        </Empty>
      </>
    );
  }
  return <Known view={view} now={now} />;
}

function Head({
  id,
  aside = null,
}: {
  readonly id: string;
  readonly aside?: preact.ComponentChild;
}) {
  return (
    <header class="head">
      <p class="up">
        <Link to="/destinations">Destinations</Link> /
      </p>
      <h1>{id}</h1>
      {aside}
    </header>
  );
}

function Known({ view, now }: { readonly view: DestinationView; readonly now: number }) {
  return (
    <>
      <Head id={view.id} aside={<State {...stateWords(view)} />} />
      {view.kafkaError === null ? null : <Problem text={`Kafka is away: ${view.kafkaError}`} />}
      <p class="sentence">{sentenceOf(view, now)}</p>
      <DestinationActions view={view} now={now} />
      <Figures view={view} now={now} />
      <div class="pair">
        <Panel title="Answers">
          <Plot
            title="By class or cause, of at most 4 h"
            series={view.answers}
            lines={linesThere(view.answers)}
            unit="requests per minute"
            isStacked
          />
        </Panel>
        <Panel title="How long attempts take">
          <Plot title="Of at most 4 h" series={view.latency} lines={LATENCY_LINES} unit="ms" />
        </Panel>
      </div>
      <Panel title="Endpoints">
        <Endpoints endpoints={view.endpoints} now={now} />
      </Panel>
      <Panel title="What waits">
        <Waiting view={view} now={now} />
      </Panel>
      {view.kind === "webhook" ? <Attempts destination={view.id} now={now} /> : null}
      <p class="links">
        {view.sources.length === 0
          ? "No source is connected to it. "
          : `Gets calls of ${view.sources.join(", ")}. `}
        <Link to={deadLettersLink({ destination: view.id })}>Its dead letters</Link>
      </p>
    </>
  );
}

/** Causes that did not come up are left out. */
function linesThere({ values }: DestinationView["answers"]): readonly Line[] {
  const isThere = (name: string) =>
    (values[name as Answer] ?? []).some((value) => value !== null && value > 0);
  return ANSWER_LINES.filter(({ name }) => name === "2xx" || isThere(name));
}

function sentenceOf(
  { failingSince, failedShare, held, last, note, state, kind }: DestinationView,
  now: number,
) {
  const long = (at: string | null) =>
    at === null ? "" : ` for ${durationText(now - Date.parse(at))}`;
  if (held?.because === "paused")
    return `It is paused${long(held.since)}: new calls wait in its line.`;
  if (held?.because === "disabled")
    return "It is disabled: it gets no calls, and its line is held.";
  const until =
    held?.until == null ? "" : ` until ${new Date(held.until).toLocaleTimeString("en-GB")}`;
  const alone = held === null ? "" : ` Its endpoints are left alone${until} (${held.because}).`;
  if (failingSince !== null) {
    const why = last === null ? "" : ` The last answer: ${outcomeText(last)}.`;
    return `It has been failing${long(failingSince)}. ${shareSentence(failedShare)}${why}${alone}`;
  }
  if (held !== null) return alone.trim();
  if (note !== null) return `${note[0]?.toUpperCase()}${note.slice(1)}.`;
  if (state === "delivering") {
    const answer = last === null ? "" : ` The last answer: ${outcomeText(last)}.`;
    return `${shareSentence(failedShare)}${failedShare === null ? answer : ""}`;
  }
  if (kind === "topic") return "Only its topic is written; its own consumers read it.";
  return state === null
    ? "No process that was asked delivers to it."
    : "Nothing was attempted since its process started.";
}

function shareSentence(failedShare: number | null): string {
  if (failedShare === null) return "Nothing was attempted in the last minute.";
  if (failedShare === 0) return "All attempts of the last minute were accepted.";
  return `${percentText(failedShare)} of the attempts in the last minute failed.`;
}

function Figures({ view, now }: { readonly view: DestinationView; readonly now: number }) {
  const isFailing = view.trouble <= 1;
  return (
    <dl class="figures">
      <Figure
        label="Accepted"
        value={countText(view.acceptedPerMinute)}
        unit="per minute"
        tone={isFailing ? "bad" : "good"}
        note={<>{percentText(view.share)} of attempts</>}
      />
      <Figure
        label="Failed"
        value={countText(view.failedPerMinute)}
        unit="per minute"
        tone={(view.failedPerMinute ?? 0) > 0 ? "bad" : "quiet"}
      />
      <Figure
        label="Attempts take"
        value={millisecondsText(view.p50Ms)}
        unit="p50"
        note={<>{millisecondsText(view.p99Ms)} p99</>}
      />
      <Figure
        label="In line"
        value={countText(view.waiting)}
        note={
          view.oldestAt === null ? undefined : (
            <>
              oldest <Age at={view.oldestAt} now={now} />
            </>
          )
        }
      />
      <Figure
        label="In tiers"
        value={countText(view.inTiers)}
        tone={(view.inTiers ?? 0) > 0 ? "warn" : "quiet"}
      />
      <Figure label="Dead letters" value={countText(view.deadLettersLastDay)} unit="last day" />
    </dl>
  );
}

function Failing({ endpoint, now }: { readonly endpoint: EndpointView; readonly now: number }) {
  const { failingSince, failedShare } = endpoint;
  const isShown = failingSince !== null && failedShare !== null;
  return (
    <>
      <Age at={failingSince} now={now} />
      {isShown ? `, ${percentText(failedShare)} of attempts` : null}
    </>
  );
}

function Endpoints({
  endpoints,
  now,
}: {
  readonly endpoints: readonly EndpointView[];
  readonly now: number;
}) {
  if (endpoints.length === 0) return <Empty>It has no endpoints.</Empty>;
  const columns: readonly Column<EndpointView>[] = [
    { label: "Endpoint", of: ({ name }) => name },
    { label: "Address", of: ({ origin }) => origin },
    { label: "Breaker", of: (endpoint) => <CircuitBreaker endpoint={endpoint} /> },
    { label: "Failing", of: (endpoint) => <Failing endpoint={endpoint} now={now} /> },
    { label: "Asked again", of: ({ awayUntil }) => <Age at={awayUntil} now={now} /> },
    {
      label: "Last answer",
      of: ({ last }) =>
        last === null ? (
          <span class="none">–</span>
        ) : (
          <>
            {outcomeText(last)} <Time at={last.at} now={now} />
          </>
        ),
    },
  ];
  return <Table label="Endpoints" columns={columns} rows={endpoints} keyOf={({ name }) => name} />;
}

function CircuitBreaker({ endpoint: { breaker } }: { readonly endpoint: EndpointView }) {
  if (breaker === null) return <span class="none">–</span>;
  const tone = breaker === "closed" ? "good" : breaker === "recovering" ? "warn" : "bad";
  return <State tone={tone} word={breaker} />;
}

function Waiting({ view, now }: { readonly view: DestinationView; readonly now: number }) {
  const { waiting, dueAgain, byDelay, nextAttemptAt } = view;
  const tiers = Object.entries(byDelay ?? {}).filter(([, count]) => count > 0);
  const never = waiting === null ? null : waiting - (dueAgain ?? 0);
  return (
    <>
      <ul class="waits">
        <li>
          <b>{countText(never)}</b> in its line, never attempted
        </li>
        <li>
          <b>{countText(dueAgain)}</b> due again, in front of it
        </li>
        {tiers.map(([tier, count]) => (
          <li key={tier}>
            <b>{countText(count)}</b> in the tier {tier}
          </li>
        ))}
        {byDelay === null ? <li>How many wait in tiers is not known now.</li> : null}
      </ul>
      {nextAttemptAt === null ? null : (
        <p>
          Next attempt <Age at={nextAttemptAt} now={now} />: <Time at={nextAttemptAt} now={now} />
        </p>
      )}
    </>
  );
}
