/** Shows the configuration of each process, and how it differs from the file and from other processes. */

import type { ProcessReport } from "../../look/status-report.ts";
import type { Overview } from "../view.ts";
import type { StateText } from "./format.ts";
import { Empty, Head, Loading, Panel, Problem, Refresh, Result, State, Time } from "./parts.tsx";
import { useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export function Configuration({ overview }: { readonly overview: Overview | null }) {
  const query = useQuery("configuration");
  return (
    <>
      <Head title="Configuration">
        <p>
          This process's file: <code>{overview?.configHash ?? query.data?.hash ?? ""}</code>
        </p>
      </Head>
      <Panel title="Processes">
        {overview === null ? (
          <Loading rows={2} />
        ) : (
          <Processes processes={overview.processes} fileHash={overview.configHash} />
        )}
      </Panel>
      <Panel title="Complete file" aside={<Refresh query={query} />}>
        <Result query={query}>{({ yaml }) => <File yaml={yaml} />}</Result>
      </Panel>
    </>
  );
}

function File({ yaml }: { readonly yaml: string | null }) {
  if (yaml === null) return <Problem text="The file is invalid. See: switchyard config check" />;
  return (
    <>
      <p class="quiet">With all defaults. Secrets are hidden.</p>
      <details>
        <summary>{yaml.split("\n").length - 1} lines</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
        <pre tabIndex={0}>{yaml}</pre>
      </details>
    </>
  );
}

function Processes({
  processes,
  fileHash,
}: {
  readonly processes: readonly ProcessReport[];
  readonly fileHash: string;
}) {
  if (processes.length === 0) {
    return (
      <Empty>
        No processes are known. Set their admin addresses with --admin or in the setting
        console.adminAddresses.
      </Empty>
    );
  }
  const columns: readonly Column<ProcessReport>[] = [
    { label: "Process", of: ({ admin }) => admin },
    {
      label: "Runs",
      of: (each) => (
        <>
          <State {...stateOf(each, fileHash)} /> <small>{notesOf(each).join(", ")}</small>
        </>
      ),
    },
    { label: "Stages (partitions)", of: stagesText },
    { label: "Configuration", of: ({ configHash }) => <code>{configHash ?? "–"}</code> },
    { label: "Since", of: ({ configAppliedAt }) => <Time at={configAppliedAt} /> },
    { label: "Version", of: ({ version }) => version ?? "–" },
  ];
  return (
    <Table label="Processes" columns={columns} rows={processes} keyOf={({ admin }) => admin} />
  );
}

function stateOf(
  { error, configHash, configInvalidSince }: ProcessReport,
  fileHash: string,
): StateText {
  if (error !== null) return { tone: "bad", text: `Unreachable: ${error}` };
  if (configInvalidSince !== null) {
    return { tone: "bad", text: "A previous configuration: its file is invalid" };
  }
  if (configHash !== fileHash) return { tone: "warn", text: "Not this file" };
  return { tone: "good", text: "This file" };
}

function notesOf({
  settingsToRestart,
  destinationsWaiting,
  unreachableBrokers,
}: ProcessReport): readonly string[] {
  return [
    settingsToRestart === 0 ? "" : `${settingsToRestart} settings pending a restart`,
    destinationsWaiting === 0 ? "" : `${destinationsWaiting} destinations waiting for topics`,
    ...unreachableBrokers.map(({ broker }) => `${broker} is unreachable`),
  ].filter((note) => note !== "");
}

function stagesText({ stages }: ProcessReport): string {
  if (stages === null) return "–";
  return stages
    .map(({ name, partitions }) => {
      const owned = Object.values(partitions).flat().length;
      return owned === 0 ? name : `${name} (${owned})`;
    })
    .join(", ");
}
