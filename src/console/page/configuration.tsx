/** The configuration of each process, and how it differs from the file and from the others. */

import type { ConfigurationView, Overview, ProcessView } from "../view.ts";
import { Empty, Panel, Problem, Scroll, State, Time } from "./parts.tsx";
import { useAnswer } from "./server.ts";
import type { StateWords } from "./words.ts";

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
        No process is asked. Name admin ports with --admin, or in the setting console.processes.
      </Empty>
    );
  }
  return (
    <Scroll label="Processes">
      <table>
        <thead>
          <tr>
            {["Process", "Runs", "Stages (partitions)", "Configuration", "Since", "Version"].map(
              (label) => (
                <th key={label} scope="col">
                  {label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {processes.map((each) => (
            <tr key={each.admin}>
              <th scope="row">{each.admin}</th>
              <td>
                <State {...wordsOf(each, fileHash)} />
                {notesOf(each).map((note) => (
                  <small key={note}> {note}</small>
                ))}
              </td>
              <td>{stagesText(each)}</td>
              <td>
                <code>{each.configHash ?? "–"}</code>
              </td>
              <td>
                {each.configAppliedAt === null ? (
                  <span class="none">–</span>
                ) : (
                  <Time at={each.configAppliedAt} now={now} />
                )}
              </td>
              <td>{each.version ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
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
