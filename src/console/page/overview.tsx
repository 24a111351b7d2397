/** The picture of the README, alive: where calls are now, how many pass, and what is in trouble. */

import type { ComponentChildren } from "preact";

import type { DelayTopicView, Overview, StateCounts } from "../view.ts";
import { FindCall } from "./find-call.tsx";
import { countText, durationText, reasonText, type Tone } from "./format.ts";
import { Age, Panel, Troubles } from "./parts.tsx";
import { type Line, Plot } from "./plot.tsx";
import { Link } from "./router.tsx";
import { Spark } from "./spark.tsx";

const LINES: readonly Line[] = [
  { name: "accepted", label: "delivered", color: "--good" },
  { name: "failed", label: "failed", color: "--bad" },
  { name: "calls", label: "calls in", color: "--blue" },
  { name: "deadLetters", label: "dead letters", color: "--violet" },
];
/** A stage keeps up while its oldest call is younger than this. */
const OLD_MS = 60_000;

export function Flow({ overview, now }: { readonly overview: Overview; readonly now: number }) {
  return (
    <>
      <h1 class="hidden">Flow</h1>
      <Troubles troubles={overview.troubles} />
      <Picture overview={overview} now={now} />
      <Panel title="The last hours">
        <Plot title="Of at most 4 h" series={overview.history} lines={LINES} unit="per minute" />
      </Panel>
      <FindCall />
    </>
  );
}

function Picture({ overview, now }: { readonly overview: Overview; readonly now: number }) {
  const { rates, states, tiers, deadLetters, waiting, stages, history } = overview;
  const route = stages.find(({ stage }) => stage === "route");
  const isLate =
    route?.oldestAt !== null && route !== undefined && now - Date.parse(route.oldestAt) > OLD_MS;
  const failing = states.failing + states["on-hold"];
  const lastDay = deadLetters?.lastDay ?? null;
  return (
    <section class="picture" aria-label="The way of calls">
      <Node
        name="calls"
        title="Calls in"
        rate={rates.calls}
        values={history.values.calls}
        tone={isLate ? "warn" : "quiet"}
      >
        {countText(route?.waiting ?? null)} wait for route
        {isLate ? (
          <>
            , the oldest since <Age at={route.oldestAt} now={now} />
          </>
        ) : null}
      </Node>
      <Arrow name="to-lines" rate={rates.routed} label="routed" />
      <Node
        name="lines"
        title="Lines"
        rate={rates.routed}
        values={history.values.routed}
        tone="quiet"
      >
        {countText(waiting.lines)} wait in lines of{" "}
        <Link to="/destinations">{destinationsText(states)}</Link>
      </Node>
      <Arrow name="to-endpoints" rate={rates.accepted} label="delivered" tone="good" />
      <Node
        name="endpoints"
        title="Delivered"
        rate={rates.accepted}
        values={history.values.accepted}
        tone={failing > 0 ? "bad" : "good"}
      >
        <StatesText states={states} />
      </Node>
      <Arrow name="failed" rate={rates.failed} label="failed" tone="bad" />
      <Tiers tiers={tiers} now={now} />
      <Arrow name="due" rate={null} label="due again" />
      <Arrow name="given-up" rate={rates.deadLetters} label="given up" tone="bad" />
      <Node
        name="letters"
        title="Dead letters"
        rate={rates.deadLetters}
        values={history.values.deadLetters}
        tone={(rates.deadLetters ?? 0) > 0 ? "warn" : "quiet"}
      >
        <Link to="/dead-letters">{countText(lastDay)} in the last day</Link>
        {deadLetters?.byReason == null ? null : <Reasons counts={deadLetters.byReason} />}
      </Node>
    </section>
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
    <div class={`node ${tone}`} data-node={name}>
      <h2>{title}</h2>
      <p class="rate">
        <b>{countText(rate)}</b> <span>per minute</span>
      </p>
      <Spark values={values} tone={tone} />
      <p class="beside">{children}</p>
    </div>
  );
}

function Arrow({
  name,
  rate,
  label,
  tone = "quiet",
}: {
  readonly name: string;
  readonly rate: number | null;
  readonly label: string;
  readonly tone?: Tone;
}) {
  const moves = (rate ?? 0) > 0 ? "moves" : "";
  return (
    <div class={`arrow ${tone} ${moves}`} data-arrow={name}>
      <span>{label}</span>
      <i aria-hidden="true" />
    </div>
  );
}

function Tiers({
  tiers,
  now,
}: {
  readonly tiers: readonly DelayTopicView[];
  readonly now: number;
}) {
  const all = tiers.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0);
  return (
    <div class={`node tiers ${all > 0 ? "warn" : "quiet"}`} data-node="tiers">
      <h2>Waiting to be tried again</h2>
      <ul>
        {tiers.map(({ tier, waiting, dueAt, retired }) => (
          <li key={tier} class={(waiting ?? 0) > 0 ? "some" : ""}>
            <span>
              {tier}
              {retired ? " (retired)" : ""}
            </span>
            <b>{countText(waiting)}</b>
            <small>{dueAt === null ? "" : <Due at={dueAt} now={now} />}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Due({ at, now }: { readonly at: string; readonly now: number }) {
  const ms = Date.parse(at) - now;
  if (ms < -15_000) return <span class="bad-text">late by {durationText(-ms)}</span>;
  return <>{ms < 1_000 ? "due now" : `due in ${durationText(ms)}`}</>;
}

function Reasons({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  return (
    <>
      {sorted.slice(0, 3).map(([reason, count]) => (
        <span key={reason} class="reason">
          {countText(count)} {reasonText(reason)}
        </span>
      ))}
    </>
  );
}

function destinationsText(states: StateCounts): string {
  const all = Object.values(states).reduce((sum: number, count: number) => sum + count, 0);
  return all === 1 ? "1 destination" : `${all.toLocaleString("en")} destinations`;
}

const WORDS: readonly (readonly [keyof StateCounts, string])[] = [
  ["failing", "fail"],
  ["on-hold", "on hold"],
  ["delivering", "deliver"],
  ["idle", "not tried yet"],
  ["quiet", "paused or disabled"],
  ["topics", "read by others"],
  ["not-owned", "owned by others"],
  ["unknown", "not known here"],
];

function StatesText({ states }: { readonly states: StateCounts }) {
  const parts = WORDS.filter(([name]) => states[name] > 0);
  return (
    <>
      {parts.map(([name, word]) => (
        <span
          key={name}
          class={`reason ${name === "failing" || name === "on-hold" ? "bad-text" : ""}`}
        >
          {states[name]} {word}
        </span>
      ))}
    </>
  );
}
