/** One call: its way over all topics and attempts as a time line. */

import type { CallStep, CallView } from "../query-view.ts";
import { destinationLink } from "./address.ts";
import { CallRequests } from "./call-requests.tsx";
import { durationText } from "./format.ts";
import { Choice, Empty, Panel, Problem, Sentence, Time } from "./parts.tsx";
import { Link, useHere } from "./router.tsx";
import { useAnswer } from "./server.ts";

const TIMES = ["1h", "1d", "7d"] as const;

export function Call({ id, now }: { readonly id: string; readonly now: number }) {
  const { query } = useHere();
  const since = query.get("since") ?? "1d";
  const asked = new URLSearchParams({ id, since });
  const { answer, error, isAsking, again } = useAnswer<CallView>(`/api/call?${asked}`);
  return (
    <>
      <header class="head">
        <h1>Call {id}</h1>
        <Choice legend="Written in the last" name="since" values={TIMES} chosen={since} />
        <button type="button" onClick={again}>
          Read again
        </button>
        <p role="status">{isAsking ? "Reading all calls of this time" : ""}</p>
      </header>
      {error === null ? null : <Problem text={error} />}
      {answer === null ? null : <Known view={answer} now={now} />}
    </>
  );
}

function Known({ view, now }: { readonly view: CallView; readonly now: number }) {
  if (view.steps.length === 0) {
    return <Empty>Nothing is known of it. A longer time looks further back.</Empty>;
  }
  const first = Date.parse(view.steps[0]?.at ?? "");
  return (
    <>
      <Panel title="How it stands">
        <ul class="fates">
          {view.finalStates.map(({ destination, text, tone }) => (
            <li key={destination} class={tone}>
              <Link to={destinationLink(destination ?? "")}>{destination}</Link>{" "}
              <Sentence text={text} now={now} />
            </li>
          ))}
        </ul>
        {view.gaps.map((gap) => (
          <p key={gap} class="beside">
            {gap}
          </p>
        ))}
      </Panel>
      <Panel title="Its way">
        <ol class="line">
          {view.steps.map((step, index) => (
            <Step
              key={`${index} ${step.at}`}
              step={step}
              afterMs={Date.parse(step.at) - first}
              now={now}
            />
          ))}
        </ol>
      </Panel>
      <CallRequests requests={view.requests} />
    </>
  );
}

function Step({
  step: { at, destination, text, tone },
  afterMs,
  now,
}: {
  readonly step: CallStep;
  readonly afterMs: number;
  readonly now: number;
}) {
  return (
    <li class={tone}>
      <p class="about">
        <Time at={at} now={now} />{" "}
        <small>{afterMs < 1_000 ? `+${afterMs} ms` : `+${durationText(afterMs)}`}</small>
        {destination === null ? null : <Link to={destinationLink(destination)}>{destination}</Link>}
      </p>
      <p class="text">
        <Sentence text={text} now={now} />
      </p>
    </li>
  );
}
