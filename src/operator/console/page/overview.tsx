/**
 * Shows the diagram from the README with current numbers: where calls are now, how many are processed, and which
 * destinations are failing.
 */

import type { ComponentChildren } from "preact";
import { counted } from "../../../base/words/count.ts";
import type { DestinationRow, Overview, StateCounts } from "../view.ts";
import { FindCall } from "./calls.tsx";
import {
  acceptedShare,
  countText,
  deliveredTone,
  dueText,
  instantAfter,
  millisecondsText,
  outcomeText,
  percentText,
  reasonText,
  stateOf,
  type Tone,
} from "./format.ts";
import { Age, DestinationLink, HealthProblems, None, Panel, State, useNow } from "./parts.tsx";
import { type Line, Plot, Spark } from "./plot.tsx";
import { Link } from "./router.tsx";
import { type Column, Table } from "./table.tsx";

const LINES: readonly Line[] = [
  { name: "accepted", label: "delivered", color: "--good" },
  { name: "failed", label: "failed", color: "--bad" },
  { name: "calls", label: "received", color: "--blue" },
  { name: "deadLetters", label: "dead-lettered", color: "--violet" },
];
/** The route stage keeps up as long as its oldest call is younger than this. */
const OLD_MS = 60_000;
const OVERDUE_MS = 15_000;

interface Props {
  readonly overview: Overview;
}

const NO_PROBLEM = "No destination is failing or on hold.";

export function OverviewPage({ overview }: Props) {
  const isKnown = overview.kafkaError === null && overview.states.unknown === 0;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <HealthProblems problems={overview.healthProblems} />
      <Diagram overview={overview} />
      <Panel title="Last 4 hours">
        <Plot title="All destinations" series={overview.history} lines={LINES} unit="per minute" />
      </Panel>
      <div class="pair">
        <Panel title="Need attention" aside={<Link to="/destinations">All destinations</Link>}>
          <TopTable
            label="Destinations that need attention"
            columns={WORST}
            rows={overview.worst}
            none={isKnown ? NO_PROBLEM : "No destination is known to be failing or on hold."}
          />
        </Panel>
        <Panel title="Busiest destinations">
          <TopTable
            label="Busiest destinations"
            columns={BUSIEST}
            rows={overview.busiest}
            none="Nothing has been delivered in the last minute."
          />
        </Panel>
      </div>
      <FindCall />
    </>
  );
}

const DESTINATION: Column<DestinationRow> = {
  label: "Destination",
  of: ({ destination }) => <DestinationLink id={destination} />,
};

const WORST: readonly Column<DestinationRow>[] = [
  DESTINATION,
  { label: "State", of: (row) => <State {...stateOf(row)} /> },
  { label: "Last response", of: ({ last }) => (last === null ? <None /> : outcomeText(last)) },
  { label: "Queued", isNumber: true, of: ({ waiting }) => countText(waiting) },
];

const BUSIEST: readonly Column<DestinationRow>[] = [
  DESTINATION,
  { label: "Delivered / min", isNumber: true, of: (row) => countText(row.donePerMinute) },
  { label: "Success rate", isNumber: true, of: (row) => percentText(acceptedShare(row)) },
  { label: "p99", isNumber: true, of: ({ p99Ms }) => millisecondsText(p99Ms) },
];

interface TopTableProps {
  readonly label: string;
  readonly columns: readonly Column<DestinationRow>[];
  readonly rows: readonly DestinationRow[];
  /** The text that is shown if there are no rows. */
  readonly none: string;
}

function TopTable({ label, columns, rows, none }: TopTableProps) {
  if (rows.length === 0) return <p class="quiet">{none}</p>;
  return (
    <Table label={label} columns={columns} rows={rows} keyOf={({ destination }) => destination} />
  );
}

function Diagram({ overview }: Props) {
  const { rates, states, deadLetters, queued, history } = overview;
  const all = Object.values(states).reduce((sum: number, count: number) => sum + count, 0);
  return (
    <section class="diagram" aria-label="The path of calls">
      <Received overview={overview} />
      <Arrow name="routed" rate={rates.routed} />
      <Node
        name="queued"
        title="Queued"
        rate={rates.routed}
        values={history.values.routed}
        tone="quiet"
      >
        {countText(queued)} queued for <Link to="/destinations">{counted(all, "destination")}</Link>
      </Node>
      <Arrow name="delivered" rate={rates.accepted} tone="good" />
      <Node
        name="endpoints"
        title="Delivered"
        rate={rates.accepted}
        values={history.values.accepted}
        tone={deliveredTone(states, overview.kafkaError)}
      >
        {STATES.filter(([name]) => states[name] > 0).map(([name, text]) => (
          <span key={name} class={name === "failing" || name === "on-hold" ? "bad" : ""}>
            {states[name]} {text}
          </span>
        ))}
      </Node>
      <Arrow name="failed" rate={rates.failed} tone="bad" />
      <AwaitingRetry overview={overview} />
      <Arrow name="due" label="retry due" rate={null} />
      <Arrow name="dead-lettered" rate={rates.deadLetters} tone="bad" />
      <Node
        name="dead-letters"
        title="Dead letters"
        rate={rates.deadLetters}
        values={history.values.deadLetters}
        tone={(rates.deadLetters ?? 0) > 0 ? "warn" : "quiet"}
      >
        <Link to="/dead-letters">{countText(deadLetters?.lastDay ?? null)} in the last 24 h</Link>
        <Reasons counts={deadLetters?.byReason ?? {}} />
      </Node>
    </section>
  );
}

function Received({ overview: { at, rates, stages, history } }: Props) {
  const now = useNow();
  const route = stages.find(({ stage }) => stage === "route");
  const oldestMs = route?.oldestMs ?? null;
  const oldestAt = oldestMs === null ? null : instantAfter(at, -oldestMs);
  const isLate = oldestAt !== null && now - Date.parse(oldestAt) > OLD_MS;
  return (
    <Node
      name="calls"
      title="Received"
      rate={rates.calls}
      values={history.values.calls}
      tone={isLate ? "warn" : "quiet"}
    >
      {countText(route?.lag ?? null)} waiting to be routed
      {isLate ? (
        <>
          , the oldest received <Age at={oldestAt} />
        </>
      ) : null}
    </Node>
  );
}

function Node({
  name,
  title,
  rate,
  values,
  tone,
  children,
}: {
  readonly name: string;
  readonly title: string;
  readonly rate: number | null;
  readonly values: readonly (number | null)[];
  readonly tone: Tone;
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`node card ${tone}`} data-node={name} style={{ gridArea: name }}>
      <h2>{title}</h2>
      <p class="rate">
        <b>{countText(rate)}</b> / min
      </p>
      <Spark values={values} tone={tone} />
      <p class="details">{children}</p>
    </div>
  );
}

function Arrow({
  name,
  label = name,
  rate,
  tone = "quiet",
}: {
  readonly name: string;
  readonly label?: string;
  readonly rate: number | null;
  readonly tone?: Tone;
}) {
  const moves = (rate ?? 0) > 0 ? `moves ${tone}` : "";
  return (
    <div class={`arrow ${moves}`} data-arrow={name} style={{ gridArea: name }}>
      <span>{label}</span>
      <i aria-hidden="true" />
    </div>
  );
}

function AwaitingRetry({ overview: { at, delayTopics } }: Props) {
  const all = delayTopics.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0);
  const tone = all > 0 ? "warn" : "quiet";
  return (
    <div class={`node card ${tone}`} data-node="awaiting" style={{ gridArea: "awaiting" }}>
      <h2>Awaiting retry</h2>
      <ul class="delays flex">
        {delayTopics.map(({ delay, waiting, dueInMs, retired }) => (
          <li key={delay} class={(waiting ?? 0) > 0 ? "some" : ""}>
            <span>
              {delay}
              {retired ? " (retired)" : ""}
            </span>
            <b>{countText(waiting)}</b>
            <small>{dueInMs === null ? "" : <Due at={instantAfter(at, dueInMs)} />}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Due({ at }: { readonly at: string }) {
  const now = useNow();
  const ms = Date.parse(at) - now;
  if (ms < -OVERDUE_MS) return <span class="bad">{dueText(at, now)}</span>;
  return <>{ms < 1_000 ? "due now" : `due ${dueText(at, now)}`}</>;
}

function Reasons({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  return (
    <>
      {sorted.slice(0, 3).map(([reason, count]) => (
        <span key={reason}>
          {countText(count)} {reasonText(reason)}
        </span>
      ))}
    </>
  );
}

const STATES: readonly (readonly [keyof StateCounts, string])[] = [
  ["failing", "failing"],
  ["on-hold", "on hold"],
  ["delivering", "delivering"],
  ["idle", "idle"],
  ["quiet", "paused or disabled"],
  ["topics", "read by other consumers"],
  ["not-owned", "on other processes"],
  ["unknown", "unknown"],
];
