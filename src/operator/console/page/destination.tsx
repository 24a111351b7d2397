/** Shows one destination: its state, the responses of its endpoints, and its backlog. */

import type { ComponentChildren } from "preact";

import { blockedText, HOLD_TEXTS } from "../../../base/words/reasons.ts";
import type { EndpointReport } from "../../look/status-report.ts";
import type { DestinationView, ResponseClass } from "../view.ts";
import { DestinationActions } from "./act-destination.tsx";
import { deadLettersLink } from "./address.ts";
import { Attempts } from "./attempts.tsx";
import {
  acceptedShare,
  countText,
  durationText,
  millisecondsText,
  outcomeText,
  percentText,
  stateOf,
  type Tone,
} from "./format.ts";
import { Age, Empty, Loading, None, Panel, Problem, State, Time, useNow } from "./parts.tsx";
import { type Line, Plot } from "./plot.tsx";
import { Link } from "./router.tsx";
import { useLatest } from "./server.ts";
import { SkippedCalls } from "./skipped-calls.tsx";
import { type Column, Table } from "./table.tsx";

const RESPONSE_LINES: readonly Line[] = [
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
  { name: "protocol", label: "not HTTP", color: "--soft" },
  { name: "other", label: "no response", color: "--soft" },
];
const LATENCY_LINES: readonly Line[] = [
  { name: "p50", label: "p50", color: "--blue" },
  { name: "p99", label: "p99", color: "--orange" },
];

interface Missing {
  readonly isMissing: true;
}

export function Destination({ id }: { readonly id: string }) {
  const path = `/api/events?of=destination&id=${encodeURIComponent(id)}`;
  const [view] = useLatest<DestinationView | Missing>(path);
  return (
    <>
      <header class="head flex">
        <p class="up">
          <Link to="/destinations">Destinations</Link> /
        </p>
        <h1>{id}</h1>
        {view === null || "isMissing" in view ? null : <State {...stateOf(view)} />}
      </header>
      {view === null ? (
        <Loading />
      ) : "isMissing" in view ? (
        <Empty>
          No destination has this ID. <Link to="/destinations">All destinations</Link>
        </Empty>
      ) : (
        <Known view={view} />
      )}
    </>
  );
}

interface Props {
  readonly view: DestinationView;
}

function Known({ view }: Props) {
  const { destination: id, isAttempted, kafkaError, responses, latency, endpoints, sources } = view;
  return (
    <>
      <Problem text={kafkaError === null ? null : `Kafka is unreachable: ${kafkaError}`} />
      <p class="sentence">{sentenceOf(view, useNow())}</p>
      <DestinationActions view={view} />
      <Figures view={view} />
      <div class="pair">
        <Panel title="Responses">
          <Plot
            title="Last 4 hours, by class or cause"
            series={responses}
            lines={linesOf(responses)}
            unit="requests per minute"
            isStacked
          />
        </Panel>
        <Panel title="Attempt duration">
          <Plot title="Last 4 hours" series={latency} lines={LATENCY_LINES} unit="ms" />
        </Panel>
      </div>
      <Panel title="Endpoints">
        {endpoints.length === 0 ? (
          <Empty>It has no endpoints.</Empty>
        ) : (
          <Table
            label="Endpoints"
            columns={ENDPOINT_COLUMNS}
            rows={endpoints}
            keyOf={({ name }) => name}
          />
        )}
      </Panel>
      <Panel title="Backlog">
        <Backlog view={view} />
      </Panel>
      <Panel title="Skipped calls">
        <SkippedCalls series={view.skipped} />
      </Panel>
      {isAttempted ? <Attempts destination={id} /> : null}
      <p>
        {sources.length === 0
          ? "No source is connected to it. "
          : `Receives calls from ${sources.join(", ")}. `}
        <Link to={deadLettersLink({ destination: id })}>Its dead letters</Link>
      </p>
    </>
  );
}

/** The lines of the plot. Causes that did not occur are omitted. */
function linesOf({ values }: DestinationView["responses"]): readonly Line[] {
  const occurred = (name: string) =>
    (values[name as ResponseClass] ?? []).some((value) => value !== null && value > 0);
  return RESPONSE_LINES.filter(({ name }) => name === "2xx" || occurred(name));
}

function sentenceOf(
  { failingSince, failedShare, hold, last, note, state, isAttempted }: DestinationView,
  now: number,
): string {
  const long = (at: string | null) =>
    at === null ? "" : ` for ${durationText(now - Date.parse(at))}`;
  if (hold?.reason === "paused") {
    return `It has been paused${long(hold.since)}: new deliveries stay in its queue.`;
  }
  if (hold?.reason === "disabled") {
    return "It is disabled: no calls are routed to it, and its queue is on hold.";
  }
  if (hold?.reason === "token" || hold?.reason === "proxy") {
    const error = hold.error === undefined ? "" : ` ${hold.error}.`;
    return `It has been on hold without a ${hold.reason}${long(hold.since)}.${error}`;
  }
  if (hold?.reason === "gone") {
    return `It has been on hold${long(hold.since)}: its endpoints have responded 410, and get no more requests until you resume it.`;
  }
  if (hold?.reason === "order") {
    return `It has been on hold${long(hold.since)}: as many users of a partition are blocked as are allowed, so no other user's deliveries start.`;
  }
  const until =
    hold?.until == null ? "" : ` until ${new Date(hold.until).toLocaleTimeString("en-GB")}`;
  const onHold =
    hold === null ? "" : ` Its endpoints are unavailable${until}: ${HOLD_TEXTS[hold.reason]}.`;
  const response = last === null ? "" : ` Last response: ${outcomeText(last)}.`;
  if (failingSince !== null) {
    return `It has been failing${long(failingSince)}. ${failedShare === 0 ? RECOVERING : shareSentence(failedShare)}${response}${onHold}`;
  }
  if (hold !== null) return onHold.trim();
  if (note !== null) return `${note[0]?.toUpperCase()}${note.slice(1)}.`;
  if (state === "delivering") {
    return `${shareSentence(failedShare)}${failedShare === null ? response : ""}`;
  }
  if (isAttempted === false)
    return "Deliveries are written to its topic, which other consumers read.";
  return state === null
    ? "None of the known processes delivers to it."
    : "Nothing has been attempted since its process started.";
}

const RECOVERING = "It is recovering: no attempt failed in the last minute.";

function shareSentence(failedShare: number | null): string {
  if (failedShare === null) return "There were no attempts in the last minute.";
  if (failedShare === 0) return "All attempts in the last minute were accepted.";
  return `${percentText(failedShare)} of the attempts in the last minute failed.`;
}

function Figures({ view }: Props) {
  const { donePerMinute, failedPerMinute, p50Ms, p99Ms, severity } = view;
  const { waiting, oldestAt, awaitingRetry, deadLettersLastDay, state, kafkaError } = view;
  return (
    <dl class="figures">
      <Figure
        label="Delivered"
        value={countText(donePerMinute)}
        unit="/ min"
        tone={severity <= 1 ? "bad" : state === "delivering" && kafkaError === null ? "good" : ""}
      >
        {percentText(acceptedShare(view))} of attempts
      </Figure>
      <Figure
        label="Failed"
        value={countText(failedPerMinute)}
        unit="/ min"
        tone={(failedPerMinute ?? 0) > 0 ? "bad" : ""}
      />
      <Figure label="Attempt duration" value={millisecondsText(p50Ms)} unit="p50">
        {millisecondsText(p99Ms)} p99
      </Figure>
      <Figure label="Queued" value={countText(waiting)}>
        {oldestAt === null ? null : (
          <>
            oldest <Age at={oldestAt} />
          </>
        )}
      </Figure>
      <Figure
        label="Awaiting retry"
        value={countText(awaitingRetry)}
        tone={(awaitingRetry ?? 0) > 0 ? "warn" : ""}
      />
      <Figure label="Dead letters" value={countText(deadLettersLastDay)} unit="in the last 24 h" />
    </dl>
  );
}

function Figure({
  label,
  value,
  unit = "",
  tone = "",
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly unit?: string;
  readonly tone?: Tone | "";
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="figure card">
      <dt>{label}</dt>
      <dd>
        <b class={tone}>{value}</b> <span>{unit}</span>
        <p>{children}</p>
      </dd>
    </div>
  );
}

const ENDPOINT_COLUMNS: readonly Column<EndpointReport>[] = [
  { label: "Endpoint", of: ({ name }) => name },
  { label: "Address", of: ({ origin }) => origin },
  { label: "Circuit", of: ({ circuit }) => <Circuit state={circuit} /> },
  {
    label: "Failing",
    of: ({ failingSince, failedShare }) => (
      <>
        <Age at={failingSince} />
        {failingSince !== null && failedShare !== null
          ? `, ${percentText(failedShare)} of attempts`
          : null}
      </>
    ),
  },
  {
    label: "Unavailable",
    of: ({ unavailable }) =>
      unavailable === null ? (
        <None />
      ) : (
        <>
          {HOLD_TEXTS[unavailable.reason]}, {unavailable.until === null ? "" : "next probe "}
          <Age at={unavailable.until ?? unavailable.since} />
        </>
      ),
  },
  {
    label: "Last response",
    of: ({ last }) =>
      last === null ? (
        <None />
      ) : (
        <>
          {outcomeText(last)} <Time at={last.at} />
        </>
      ),
  },
];

function Circuit({ state }: { readonly state: EndpointReport["circuit"] }) {
  if (state === null) return <None />;
  const tone = state === "closed" ? "good" : state === "recovering" ? "warn" : "bad";
  return <State tone={tone} text={state} />;
}

function Backlog({ view: { waiting, due, byDelay, nextAttemptAt, order } }: Props) {
  const delays = Object.entries(byDelay ?? {}).filter(([, count]) => count > 0);
  return (
    <>
      <ul class="flex">
        <li>
          <b>{countText(waiting === null ? null : waiting - (due ?? 0))}</b> queued, not attempted
          yet
        </li>
        <li>
          <b>{countText(due)}</b> due for retry
        </li>
        {order === undefined ? null : <li>{blockedText(order)}</li>}
        {delays.map(([delay, count]) => (
          <li key={delay}>
            <b>{countText(count)}</b> awaiting retry after {delay}
          </li>
        ))}
        {byDelay === null ? <li>The number of deliveries awaiting retry is unknown.</li> : null}
      </ul>
      {nextAttemptAt === null ? null : (
        <p>
          Next retry <Age at={nextAttemptAt} />: <Time at={nextAttemptAt} />
        </p>
      )}
    </>
  );
}
