/**
 * Shows the configuration of each process, how it differs from the file and from other processes, and the changes
 * that another file would make.
 */

import { useState } from "preact/hooks";

import type { JobView } from "../action-view.ts";
import type { ChangesView, ConfigurationView, ProblemsView } from "../query-view.ts";
import type { Overview, ProcessView } from "../view.ts";
import { LatestComparison, Problems } from "./compared-calls.tsx";
import type { StateText } from "./format.ts";
import { tookStart } from "./jobs.tsx";
import { Empty, Head, Loading, Panel, Problem, Refresh, Result, State, Time } from "./parts.tsx";
import { errorText, postText, useQuery } from "./server.ts";
import { type Column, Table } from "./table.tsx";

export function Configuration({ overview }: { readonly overview: Overview | null }) {
  const query = useQuery<ConfigurationView>("/api/configuration");
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
      <Comparison />
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
  readonly processes: readonly ProcessView[];
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
  const columns: readonly Column<ProcessView>[] = [
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
  { error, configHash, configInvalidSince }: ProcessView,
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
}: ProcessView): readonly string[] {
  return [
    settingsToRestart === 0 ? "" : `${settingsToRestart} settings pending a restart`,
    destinationsWaiting === 0 ? "" : `${destinationsWaiting} destinations waiting for topics`,
    ...unreachableBrokers.map((broker) => `${broker} is unreachable`),
  ].filter((note) => note !== "");
}

function stagesText({ stages }: ProcessView): string {
  if (stages === null) return "–";
  return stages
    .map(({ name, partitions }) => (partitions === 0 ? name : `${name} (${partitions})`))
    .join(", ");
}

function Comparison() {
  const [content, setContent] = useState("");
  const [view, setView] = useState<ChangesView | null>(null);
  const [error, setError] = useState<string | null>(null);
  const fail = (problem: unknown) => setError(errorText(problem));
  const compare = (event: SubmitEvent) => {
    event.preventDefault();
    setError(null);
    setView(null);
    postText("/api/changes", content).then((found) => setView(found as ChangesView), fail);
  };
  const compareCalls = (form: HTMLFormElement) => {
    setError(null);
    setView(null);
    const { since, share } = Object.fromEntries(new FormData(form));
    const query = new URLSearchParams({ since: String(since), share: String(share) });
    postText(`/api/comparisons?${query}`, content).then((found) => {
      const started = found as JobView | ProblemsView;
      if ("problems" in started) setView(started);
      else tookStart(started);
    }, fail);
  };
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const [file] = currentTarget.files ?? [];
    file?.text().then(setContent, fail);
  };
  return (
    <Panel title="Compare a file">
      <form class="comparing" onSubmit={compare}>
        <p class="quiet">
          The file is compared with the current configuration. Nothing is applied, and no value is
          shown. The file may refer to other files only if the current configuration also refers to
          them.
        </p>
        <label>
          <span>File</span> <input type="file" accept=".yaml,.yml,text/yaml" onChange={choose} />
        </label>
        <label>
          <span>or its content</span>
          <textarea
            rows={8}
            spellcheck={false}
            value={content}
            onInput={({ currentTarget }) => setContent(currentTarget.value)}
          />
        </label>
        <button type="submit">Compare</button>
        <fieldset class="flex">
          <legend class="hidden">Past calls</legend>
          <label>
            <span>Calls of the last</span>
            <select name="since">
              <option value="1h">1 h</option>
              <option value="1d">24 h</option>
              <option value="7d">7 d</option>
            </select>
          </label>
          <label>
            <span>Share of them</span>
            <select name="share">
              <option value="all">all</option>
              <option value="10%">10 %</option>
              <option value="1%">1 %</option>
            </select>
          </label>
          <button
            type="button"
            onClick={({ currentTarget: { form } }) => form && compareCalls(form)}
          >
            Compare past calls
          </button>
        </fieldset>
        <p class="quiet">
          Past calls are routed with the current configuration and with this file. The result shows
          how many calls each destination would gain or lose, and how many would have other
          properties. Nothing is written.
        </p>
      </form>
      <div role="status">
        <Problem text={error} />
        {view === null ? null : <Changes view={view} />}
      </div>
      <LatestComparison />
    </Panel>
  );
}

function Changes({ view }: { readonly view: ChangesView }) {
  if (view.kind !== "changes") return <Problems view={view} />;
  if (view.isSame) return <p>A reload would change nothing.</p>;
  const groups = [
    ...view.atOnce,
    ...(view.needsRestart.length === 0
      ? []
      : [{ title: "Only after a restart", lines: view.needsRestart }]),
  ];
  return (
    <>
      <p>
        A reload would apply the configuration <code>{view.hash}</code>
        {view.atOnce.length === 0 ? ", but nothing changes until a restart." : ":"}
      </p>
      {groups.map(({ title, lines }) => (
        <section key={title}>
          <h3>{title}</h3>
          <ul class="flex">
            {lines.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
