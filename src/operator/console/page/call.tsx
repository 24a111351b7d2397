/**
 * Shows the timeline of one call over all topics and attempts. It also shows what would happen to the call now, like
 * `switchyard explain`: which destinations would get the call, and which requests the deliver stage would send.
 */

import type { CallDecision, CallRequest, CallStep, CallView } from "../query-view.ts";
import { SendAgain } from "./act-destination.tsx";
import { durationText } from "./format.ts";
import { JobList, useEnds, useShownJobs } from "./jobs.tsx";
import {
  Choice,
  DestinationLink,
  Empty,
  Head,
  Panel,
  Refresh,
  Result,
  Sentence,
  State,
  Time,
} from "./parts.tsx";
import { useHere } from "./router.tsx";
import { useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export const CALL_TIMES = ["1h", "1d", "7d"] as const;

export function Call({ id }: { readonly id: string }) {
  const since = useHere().query.get("since") ?? "1d";
  const query = useQuery("call", { id, since });
  const place = query.data?.place ?? null;
  const jobs = useShownJobs(({ action }) =>
    action.action === "send-again"
      ? action.partition === place?.partition && action.offset === place.offset
      : action.action === "replay-dead-letters" && action.messageId === id,
  );
  useEnds(jobs, query.reload);
  return (
    <>
      <Head title={`Call ${id}`}>
        <Choice legend="Written in the last" name="since" values={CALL_TIMES} chosen={since} />
        <Refresh query={query} reading="Reading all calls from this time range" />
      </Head>
      <JobList jobs={jobs} />
      <Result query={query}>{(view) => <Known id={id} view={view} />}</Result>
    </>
  );
}

function Known({ id, view }: { readonly id: string; readonly view: CallView }) {
  const { steps, finalStates, gaps, decisions, requests, place } = view;
  if (steps.length === 0) {
    return <Empty>Nothing was found. Choose a longer time to look further back.</Empty>;
  }
  const first = Date.parse(steps[0]?.at ?? "");
  return (
    <>
      <Panel title="Status">
        <ul class="final-states">
          {finalStates.map(({ destination, text, tone }) => (
            <li key={destination} class={`aside ${tone}`}>
              <DestinationLink id={destination ?? ""} /> <Sentence text={text} />{" "}
              {tone === "bad" && destination !== null ? (
                <SendAgain
                  about={`to ${destination}`}
                  action={{
                    action: "replay-dead-letters",
                    messageId: id,
                    destination,
                    reason: null,
                    since: steps[0]?.at ?? 0,
                    until: 0,
                    includeReplayed: false,
                    perSecond: null,
                    dryRun: true,
                  }}
                />
              ) : null}
              {tone === "good" && destination !== null && place !== null ? (
                <SendAgain
                  about={`to ${destination}`}
                  action={{ action: "send-again", destination, ...place, dryRun: true }}
                />
              ) : null}
            </li>
          ))}
        </ul>
        {gaps.map((gap) => (
          <p key={gap} class="quiet">
            {gap}
          </p>
        ))}
      </Panel>
      <Panel title="Timeline">
        <ol>
          {steps.map((step, index) => (
            <Step key={`${index} ${step.at}`} step={step} afterMs={Date.parse(step.at) - first} />
          ))}
        </ol>
      </Panel>
      <Panel title="Routing">
        <p class="quiet">
          Shows which destinations of the call's source would now get the call, and why. Filters and
          changed properties are shown by name.
        </p>
        {decisions.length === 0 ? (
          <Empty>The call itself was not found, or its source is not connected.</Empty>
        ) : (
          <Table
            label="Routing"
            columns={DECISION_COLUMNS}
            rows={decisions}
            keyOf={({ destination }) => destination}
          />
        )}
      </Panel>
      <Panel title="Requests">
        <p class="quiet">
          Shows the requests that would be sent now, with the current configuration. Nothing is
          sent. Values of static headers and paths of URLs are hidden.
        </p>
        {requests.length === 0 ? (
          <Empty>The call itself was not found, or no destination receives it.</Empty>
        ) : null}
        {requests.map((request) => (
          <Request key={`${request.destination} ${request.endpoint}`} request={request} />
        ))}
      </Panel>
    </>
  );
}

const DECISION_COLUMNS: readonly Column<CallDecision>[] = [
  { label: "Destination", of: ({ destination }) => <DestinationLink id={destination} /> },
  {
    label: "Call",
    of: ({ gets }) =>
      gets ? <State tone="good" text="Gets it" /> : <State tone="quiet" text="Skipped" />,
  },
  { label: "Reason", of: ({ reason }) => <code>{reason}</code> },
  { label: "Why", of: ({ text }) => text },
];

function Step({
  step: { at, destination, text, tone },
  afterMs,
}: {
  readonly step: CallStep;
  readonly afterMs: number;
}) {
  return (
    <li class={`aside ${tone}`}>
      <p class="about">
        <Time at={at} />
        <small>{afterMs < 1_000 ? `+${afterMs} ms` : `+${durationText(afterMs)}`}</small>
        {destination === null ? null : <DestinationLink id={destination} />}
      </p>
      <p class="text">
        <Sentence text={text} />
      </p>
    </li>
  );
}

function Request({ request }: { readonly request: CallRequest }) {
  const { destination, endpoint, note } = request;
  if (note !== null) {
    return (
      <p class="quiet">
        <DestinationLink id={destination} /> {note}
      </p>
    );
  }
  return (
    <details>
      <summary>{endpoint}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <pre tabIndex={0}>{requestText(request)}</pre>
    </details>
  );
}

function requestText({ method, origin, headers, body, bodyBytes }: CallRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value ?? "(hidden)"}`);
  const size = `${bodyBytes.toLocaleString("en")} bytes`;
  const shown = body ?? `(${size}, shown with console.showPayloads: true)`;
  return [`${method} ${origin}/…`, ...lines, "", shown].join("\n");
}
