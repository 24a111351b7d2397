/** The configuration of each process, and how it differs from the file and from the others. */

import type { ConfigurationView } from "../query-view.ts";
import type { Overview, ProcessView } from "../view.ts";
import { Comparing } from "./comparing.tsx";
import type { StateWords } from "./format.ts";
import { Empty, Panel, Problem, State, TimeOrNone } from "./parts.tsx";
import { useAnswer } from "./server.ts";
import { type Column, Table } from "./table.tsx";

interface Props {
  readonly overview: Overview | null;
  readonly now: number;
}

export function Configuration({ overview, now }: Props) {
  const { answer, error, again } = useAnswer<ConfigurationView>("/api/configuration");
  return (
    <>
      <header class="head">
        <h1>Configuration</h1>
        <p>
          The file here is <code>{overview?.configHash ?? answer?.hash ?? ""}</code>
        </p>
      </header>
      <Panel title="Processes">
        {overview === null ? (
          <Empty>Loading</Empty>
        ) : (
          <Processes processes={overview.processes} fileHash={overview.configHash} now={now} />
        )}
      </Panel>
      <Comparing />
      <Panel
        title="The file, complete"
        aside={
          <button type="button" onClick={again}>
            Read again
          </button>
        }
      >
        {error === null ? null : <Problem text={error} />}
        {answer === null ? null : answer.yaml === null ? (
          <Problem text="The file cannot be used. See: switchyard config check" />
        ) : (
          <>
            <p class="beside">With all defaults. Secrets are hidden.</p>
            <details>
              <summary>{answer.yaml.split("\n").length - 1} lines</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
              <pre tabIndex={0}>{answer.yaml}</pre>
            </details>
          </>
        )}
      </Panel>
    </>
  );
}

function Processes({
  processes,
  fileHash,
  now,
}: {
  readonly processes: readonly ProcessView[];
  readonly fileHash: string;
  readonly now: number;
}) {
  if (processes.length === 0) {
    return (
      <Empty>
        No process is asked. Name admin ports with --admin, or in the setting
        console.adminAddresses.
      </Empty>
    );
  }
  const columns: readonly Column<ProcessView>[] = [
    { label: "Process", of: ({ admin }) => admin },
    {
      label: "Runs",
      of: (each) => (
        <>
          <State {...wordsOf(each, fileHash)} />
          {notesOf(each).map((note) => (
            <small key={note}> {note}</small>
          ))}
        </>
      ),
    },
    { label: "Stages (partitions)", of: stagesText },
    { label: "Configuration", of: ({ configHash }) => <code>{configHash ?? "–"}</code> },
    { label: "Since", of: ({ configAppliedAt }) => <TimeOrNone at={configAppliedAt} now={now} /> },
    { label: "Version", of: ({ version }) => version ?? "–" },
  ];
  return (
    <Table label="Processes" columns={columns} rows={processes} keyOf={({ admin }) => admin} />
  );
}

function wordsOf(
  { error, configHash, configInvalidSince }: ProcessView,
  fileHash: string,
): StateWords {
  if (error !== null) return { tone: "bad", word: `cannot be reached: ${error}` };
  if (configInvalidSince !== null) return { tone: "bad", word: "refuses its file" };
  if (configHash !== fileHash) return { tone: "warn", word: "another configuration than the file" };
  return { tone: "good", word: "the file" };
}

function notesOf({
  settingsToRestart,
  destinationsWaiting,
  brokersAway,
}: ProcessView): readonly string[] {
  return [
    settingsToRestart === 0 ? "" : `${settingsToRestart} settings count after a restart`,
    destinationsWaiting === 0 ? "" : `${destinationsWaiting} destinations wait for topics`,
    ...brokersAway.map((broker) => `no answer from ${broker}`),
  ].filter((note) => note !== "");
}

function stagesText({ stages }: ProcessView): string {
  if (stages === null) return "–";
  return stages
    .map(({ name, partitions }) => (partitions === 0 ? name : `${name} (${partitions})`))
    .join(", ");
}
