/** Shows dead letters: counts, filters, and the latest dead letters with their errors. */

import { useEffect, useRef } from "preact/hooks";
import { counted } from "../../../base/words/count.ts";
import type { JobView } from "../action-view.ts";
import { type DeadLettersView, type DeadLetterView, readSince, SINCE } from "../query-view.ts";
import type { Overview } from "../view.ts";
import { PerSecond, perSecondOf, SendAgain } from "./act-destination.tsx";
import { CountedDialog, DialogButton } from "./dialog.tsx";
import { countText, reasonText } from "./format.ts";
import { JobList, useEnds, useMayAct, useShownJobs } from "./jobs.tsx";
import {
  Age,
  CallLink,
  Choice,
  DestinationLink,
  Empty,
  Head,
  Panel,
  ReadOnly,
  Result,
  State,
  Time,
} from "./parts.tsx";
import { setQuery, useHere } from "./router.tsx";
import { useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

const STATES = ["all", "not replayed", "replayed"] as const;
const FILTERS = ["destination", "reason"] as const;

export function DeadLetters({ overview }: { readonly overview: Overview | null }) {
  const address = useHere().query;
  const query = useQuery("dead-letters", address);
  const { data, isLoading, reload } = query;
  useFresh(overview?.deadLetters?.retained ?? null, reload);
  const since = address.get("since") ?? "1d";
  return (
    <>
      <Head title="Dead letters">
        <Choice legend="Last" name="since" values={[...SINCE.keys()]} chosen={since} />
        <Choice
          legend="Shown"
          name="state"
          values={STATES}
          chosen={address.get("state") ?? "all"}
        />
        <p role="status">
          {data === null ? (isLoading ? "Reading" : "") : foundText(data)}
          {data?.isCut === true ? ", and more that could not be read in time" : ""}
        </p>
      </Head>
      <Chosen address={address} />
      <DeadLetterActions query={address} since={since} onDone={reload} />
      <Result query={query}>
        {(view) => (
          <>
            <Counts view={view} />
            <Samples view={view} />
          </>
        )}
      </Result>
    </>
  );
}

function foundText({ total, replayed }: DeadLettersView): string {
  const found = counted(total, "dead letter");
  const left = (total - replayed).toLocaleString("en");
  return replayed === 0
    ? found
    : `${found}: ${left} not replayed, ${replayed.toLocaleString("en")} replayed`;
}

/** Queries the dead letters again when the number of dead letters changes. */
function useFresh(retained: number | null, reload: () => void): void {
  const before = useRef(retained);
  useEffect(() => {
    if (before.current !== null && retained !== before.current) reload();
    before.current = retained;
  }, [retained]);
}

function Chosen({ address }: { readonly address: URLSearchParams }) {
  const chosen = FILTERS.filter((name) => address.has(name));
  if (chosen.length === 0) return null;
  return (
    <p class="flex">
      {chosen.map((name) => (
        <button key={name} type="button" onClick={() => setQuery({ [name]: "" })}>
          {name} {address.get(name)} <span aria-hidden="true">✕</span>
          <span class="hidden">, remove this filter</span>
        </button>
      ))}
    </p>
  );
}

function Filter({
  name,
  value,
  text = value,
}: {
  readonly name: (typeof FILTERS)[number];
  readonly value: string;
  readonly text?: string;
}) {
  return (
    <button type="button" class="plain" onClick={() => setQuery({ [name]: value })}>
      {text}
    </button>
  );
}

function Counts({ view: { counts } }: { readonly view: DeadLettersView }) {
  if (counts.length === 0) return null;
  const most = Math.max(...counts.map(({ count }) => count));
  const columns: readonly Column<DeadLettersView["counts"][number]>[] = [
    {
      label: "Reason",
      of: ({ reason }) => <Filter name="reason" value={reason} text={reasonText(reason)} />,
    },
    {
      label: "Destination",
      of: ({ destination }) =>
        destination === null ? (
          <span class="quiet">not a delivery</span>
        ) : (
          <Filter name="destination" value={destination} />
        ),
    },
    {
      label: "Count",
      isNumber: true,
      of: ({ count }) => (
        <>
          <meter min={0} max={most} value={count} aria-hidden="true" /> {countText(count)}
        </>
      ),
    },
    {
      label: "Not replayed",
      isNumber: true,
      of: ({ count, replayed }) => countText(count - replayed),
    },
    { label: "Replayed", isNumber: true, of: ({ replayed }) => countText(replayed) },
  ];
  return (
    <Panel title="By reason and destination">
      <Table
        label="Counts by reason and destination"
        columns={columns}
        rows={counts}
        keyOf={({ reason, destination }) => `${reason} ${destination}`}
      />
    </Panel>
  );
}

function Samples({ view: { samples, total } }: { readonly view: DeadLettersView }) {
  if (samples.length === 0) return <Empty>No dead letters match.</Empty>;
  return (
    <Panel title={samples.length === total ? "All" : `The latest ${samples.length}`}>
      <ol>
        {samples.map((each) => (
          <DeadLetter key={`${each.from} ${each.at}`} deadLetter={each} />
        ))}
      </ol>
    </Panel>
  );
}

function DeadLetter({ deadLetter }: { readonly deadLetter: DeadLetterView }) {
  const { at, stage, reason, error, destination, messageId, from, payload, replayedAt } =
    deadLetter;
  return (
    <li class="dead-letter">
      <p class="about">
        <b class="warn">{reasonText(reason)}</b>
        {destination === null ? null : <DestinationLink id={destination} />}
        <Time at={at} />
        {replayedAt === null ? null : (
          <span>
            <State tone="good" text="Replayed" /> <Age at={replayedAt} />
          </span>
        )}
      </p>
      <p>{error}</p>
      <p class="note">
        {messageId === null ? null : <CallLink messageId={messageId} />} {from}, dead-lettered by
        the {stage} stage
      </p>
      {messageId === null ? null : (
        <SendAgain
          about={messageId}
          action={{
            action: "replay-dead-letters",
            messageId,
            destination,
            reason,
            since: at,
            until: new Date(Date.parse(at) + 1).toISOString(),
            includeReplayed: replayedAt !== null,
            perSecond: null,
            dryRun: true,
          }}
        />
      )}
      {payload === null ? null : (
        <details>
          <summary>Value</summary>
          <pre>{payload}</pre>
        </details>
      )}
    </li>
  );
}

/** The dialog for replaying the dead letters that match the filters. */
interface Props {
  /** The filters of the view. */
  readonly query: URLSearchParams;
  readonly since: string;
  readonly onDone: () => void;
}

function DeadLetterActions({ query, since, onDone }: Props) {
  const jobs = useShownJobs(isOfDeadLetters);
  useEnds(jobs, onDone);
  const destination = query.get("destination") || null;
  const reason = query.get("reason") || null;
  return (
    <>
      {useMayAct() ? (
        <p>
          <DialogButton label="Replay these…">
            {(close) => (
              <CountedDialog
                title="Replay dead letters"
                actionOf={(form) => ({
                  action: "replay-dead-letters",
                  messageId: null,
                  destination,
                  reason,
                  since: readSince(since),
                  until: 0,
                  includeReplayed: form.get("includeReplayed") !== null,
                  perSecond: perSecondOf(form),
                  dryRun: true,
                })}
                doIt={(count) => `Replay ${counted(count, "dead letter")}`}
                onClose={close}
              >
                <p>
                  Dead letters from the last {since}, for {destination ?? "all destinations"}, with{" "}
                  {reason === null ? "any reason" : `the reason ${reason}`}.
                </p>
                <label>
                  <input type="checkbox" name="includeReplayed" /> Include dead letters that have
                  already been replayed
                </label>
                <PerSecond />
              </CountedDialog>
            )}
          </DialogButton>
        </p>
      ) : (
        <ReadOnly commands="dead-letters replay" />
      )}
      <JobList jobs={jobs} />
    </>
  );
}

function isOfDeadLetters({ action }: JobView): boolean {
  if (action.action === "resume-replay") return action.kind === "dead-letters";
  return action.action === "replay-dead-letters";
}
